/** The service under attack: with published documents, partners, payments and rows of every kind. */
import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { sql } from 'kysely'
import { z } from 'zod'

import { diffDocument, factsOf, nextFacts } from '../../../builder/archive/last-facts.ts'
import { loadReference } from '../../../src/actions/reference.ts'
import { createServiceNode } from '../../../src/chain/node.ts'
import { maxAgeOf } from '../../../src/contract/routes.ts'
import { isoTime, minuteMs } from '../../../src/core/time.ts'
import { findPartner, setSubscription } from '../../../src/db/partners.ts'
import { loadPayments } from '../../../src/payments/load.ts'
import { createHealth } from '../../../src/runtime/health.ts'
import { systemRandom } from '../../../src/runtime/runtime.ts'
import { agreedUsdc, openExchange, parties } from '../../support/exchange.ts'
import type { Exchange } from '../../support/exchange.ts'
import { handClock, publicDir, startService } from '../../support/http-service.ts'
import type { Service } from '../../support/http-service.ts'
import { makePartner, partnerClient } from '../../support/partners.ts'
import { issued, receiptFacts, submission, withPlatform } from '../../support/receipts.ts'
import { documentsOf } from '../../support/site.ts'
import { startUsdcChain } from '../../support/usdc-chain.ts'
import {
  ed25519Key,
  evmWallet,
  nearWallet,
  signedBody,
  solanaWallet,
} from '../../support/wallets.ts'
import type { TestWallet } from '../../support/wallets.ts'
import { smallWorld } from '../../support/world.ts'
import { chainAccount, chainKey } from '../../support/x402-payment.ts'
import type { Dictionary } from './values.ts'

export interface Target {
  readonly service: Service
  readonly receiver: `0x${string}`
  readonly secrets: readonly string[]
  /** By address. */
  readonly wallets: ReadonlyMap<string, TestWallet>
  /** Adds jobs of every status. Returns existing ids and names. */
  readonly prepare: (operation: { readonly path: string }) => Promise<Dictionary>
  /** One hash for each table. */
  readonly tables: () => Promise<ReadonlyMap<string, string>>
  /** Changes with every commit. */
  readonly version: () => Promise<number>
  readonly stop: () => Promise<void>
}

/** A payer without funds: valid payments are refused only after all other checks. */
export const payer = chainAccount('hostile payer')
export const platformKey = ed25519Key('platform')
export const workerKey = ed25519Key('own')

const outsiders = {
  stranger: evmWallet('nobody yet'),
  solana: solanaWallet('fuzz'),
  near: nearWallet('fuzz'),
} as const

export async function startTarget(): Promise<Target> {
  const chain = await startUsdcChain()
  const folder = await mkdtemp(join(tmpdir(), 'ledger-hostile-'))
  const keyFile = join(folder, 'settler.key')
  await writeFile(keyFile, chainKey('settler'), { mode: 0o600 })
  const clock = handClock()
  const receiver = chainAccount('receiver').address
  const node = createServiceNode(chain.url, { fetch, clock, random: systemRandom })
  const payments = await loadPayments(
    { mode: 'local', receiver, keyFile, maxGasPriceWei: 100_000_000n },
    { clock, random: systemRandom, fetch, node, pausesMs: [20, 40], holder: 'test' },
  )
  const reference = withPlatform(await loadReference('data'), platformKey)
  const published = await publicDir()
  const documents = [...documentsOf(smallWorld())]
  const diff = diffDocument(nextFacts(null, factsOf(documents)), maxAgeOf('getLatestDiff'))
  await published.publish([...documents, diff])
  const databasePath = join(folder, 'ledger.db')
  const service = await startService(published.dir, {
    clock,
    databasePath,
    actions: { payments, reference: () => reference },
    health: async () =>
      await createHealth({
        database: service.actions.database,
        canWrite: () => Promise.resolve(true),
        store: service.store,
        clock,
        startedMonotonicMs: 0,
        jobs: ['poll', 'build'],
        settlement: payments.mode,
        problems: payments.problems,
      })(),
  })
  const exchange = await openExchange(service)
  const rich = evmWallet('rich')
  await makePartner(service, rich, { handle: 'rich', tier: 'enterprise' })
  await populate(service)
  let hasJobs = false
  const subscribed = await subscriptionsOf(service)
  const everybody = [...Object.values(parties), ...Object.values(outsiders), rich]
  return {
    service,
    receiver,
    secrets: [folder, published.dir, process.cwd(), chainKey('settler').slice(2), chain.url],
    wallets: new Map(everybody.map((wallet) => [wallet.address, wallet])),
    prepare: async ({ path }) => {
      // Other tests cover daily quotas, which would stop the attacks here.
      clock.advance(30 * minuteMs)
      await service.actions.database.write(async (tx) => {
        for (const { handle, subscription } of subscribed) {
          await setSubscription(tx, handle, subscription, isoTime(clock.now()))
        }
        await tx.updateTable('partners').set({ require_body_signature: 0 }).execute()
      })
      // More jobs would exceed the number of open jobs per partner.
      if (path.includes('/jobs') || !hasJobs) await addJobs(exchange)
      hasJobs = true
      return await dictionaryOf(service, everybody)
    },
    tables: () => tablesOf(exchange),
    version: async () => {
      const { reader } = service.actions.database
      const { rows } = await sql<{ data_version: number }>`pragma data_version`.execute(reader)
      return rows[0]?.data_version ?? 0
    },
    stop: async () => {
      await service.stop()
      await published.remove()
      await rm(folder, { recursive: true, force: true })
      await chain.stop()
    },
  }
}

/** Adds a worker with a receipt, and a webhook. */
async function populate(service: Service): Promise<void> {
  const { clock, url, actions } = service
  const send = async (path: string, body: object) => {
    const answer = await fetch(`${url}/api/v1${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`)
  }
  const worker = evmWallet('bidder')
  const skills = [...actions.reference().skills].slice(0, 2)
  const nowMs = clock.now()
  await send('/workers/register', await signedBody(worker, 'register', { skills }, { nowMs }))
  const facts = receiptFacts(worker, { from_wallet: evmWallet('payer').address })
  await send('/receipts', await submission(worker, issued(facts, platformKey), nowMs))
  const subscribed = await partnerClient(service, parties.poster)(
    'POST',
    '/api/v1/alerts/subscribe',
    { url: 'https://hooks.example.com/alerts' },
  )
  if (subscribed.status !== 201) throw new Error(JSON.stringify(subscribed.body))
}

async function subscriptionsOf({ actions }: Service) {
  const handles = [...Object.keys(parties), 'rich']
  const partners = await Promise.all(
    handles.map((handle) => findPartner(actions.database.reader, { handle })),
  )
  return partners.flatMap((partner) => (partner === null ? [] : [partner]))
}

/** Adds one job of each status that operations start from. */
async function addJobs(exchange: Exchange): Promise<void> {
  await exchange.post()
  const { id } = await exchange.post()
  await exchange.bid(id, 'worker', { price_usdc: agreedUsdc })
  await exchange.awarded()
  await exchange.delivered()
}

const NEWEST = 8

async function dictionaryOf(
  service: Service,
  everybody: readonly TestWallet[],
): Promise<Dictionary> {
  const { reader } = service.actions.database
  const newest = async (table: string, by = 'created_at') => {
    const { rows } = await sql<{ value: string }>`
      select id as value from ${sql.table(table)} order by ${sql.ref(by)} desc limit ${NEWEST}
    `.execute(reader)
    return rows.map(({ value }) => value)
  }
  const jobs = await newest('jobs')
  const wallets = everybody.map(({ address }) => address)
  const spellings = [...wallets, ...wallets.map((wallet) => wallet.toLowerCase())]
  const codes = service.actions.emails.flatMap(
    ({ text }) => /^Your code is (?<code>\w{8})\.$/m.exec(text)?.groups?.['code'] ?? [],
  )
  const reference = service.actions.reference()
  return {
    id: [...jobs, ...(await newest('receipts', 'seq')), ...(await newest('alert_subscriptions'))],
    job_id: jobs,
    bid_id: await newest('job_bids'),
    handle: [...Object.keys(parties), 'rich', 'me', 'tiers', 'new-handle'],
    wallet: spellings,
    to_wallet: wallets,
    from_wallet: wallets,
    worker_wallet: wallets,
    rail: [...reference.rails.keys(), 'alpha', 'beta'],
    rails: [...reference.rails.keys()],
    surface: [...reference.rails.keys()],
    name: ['alpha', 'beta', 'weekly-47', 'technical-writing'],
    skill: [...reference.skills].slice(0, 4),
    skills: [...reference.skills].slice(0, 4),
    slug: ['technical-writing', 'weekly-47', ...[...reference.skills].slice(0, 3)],
    platform: ['example_board'],
    asset_symbol: ['USDC'],
    budget_usdc: ['40.5', '12', '0.000001'],
    price_usdc: ['37.5', '12'],
    amount_usdc: ['10', '0.25', '1000000000'],
    cursor: await cursorsOf(service),
    occurred_at: ['2026-11-20T12:00:00.000Z', '2026-11-19T12:00:00.000Z'],
    deadline: ['2027-01-20T12:00:00.000Z', '2027-02-20T12:00:00.000Z'],
    uri: ['https://files.example.com/manual.pdf'],
    url: ['https://hooks.example.com/alerts', 'https://attest.example.com/x'],
    content_sha256: ['ab'.repeat(32)],
    email: ['a@ledger.example', 'b@ledger.example', 'c@ledger.example'],
    code: ['00000000', ...codes],
    public_key: [`ed25519:${workerKey.base64}`],
    receipt_key: [workerKey.base64],
    timestamp: ['@now', '@now', '@now', '@now', '@now', '@now', '@old', '@ahead'],
    signature: ['@signature'],
    oath_signature: ['@oath_signature'],
    platform_signature: ['@platform_signature'],
    worker_signature: ['@worker_signature'],
  }
}

const page = z.object({ next_cursor: z.string() })

async function cursorsOf({ url }: Service): Promise<readonly string[]> {
  const lists = ['jobs', 'receipts', 'workers', 'partners/poster/oaths']
  const pages = await Promise.all(
    lists.map(async (list) => await (await fetch(`${url}/api/v1/${list}?limit=1`)).json()),
  )
  return pages.flatMap((json) => page.safeParse(json).data?.next_cursor ?? [])
}

async function tablesOf(exchange: Exchange): Promise<ReadonlyMap<string, string>> {
  const rows = z.record(z.string(), z.array(z.unknown())).parse(await exchange.rows())
  return new Map(
    Object.entries(rows).map(([table, own]) => [
      table,
      createHash('sha256').update(JSON.stringify(own)).digest('base64'),
    ]),
  )
}
