/** What a stranger adds to what is kept for ever: every kind of write, the builder, and the growth of all tables and of the log. */
import { sql } from 'kysely'
import { describe, expect, test, vi } from 'vitest'

import { applyFacts, noTally } from '../../builder/chain/receipt-apply.ts'
import type { TransactionFacts } from '../../builder/chain/receipt-facts.ts'
import { messages, sha256Hex } from '../../src/auth/messages.ts'
import { storageUnits } from '../../src/core/limits.ts'
import { dayMs, hourMs, isoTime } from '../../src/core/time.ts'
import { parseWallet } from '../../src/core/wallet.ts'
import { acceptUnanswered, expireJobs } from '../../src/db/jobs/deadlines.ts'
import { findCheckpoint, putCheckpoint, queueEntries } from '../../src/db/log.ts'
import { applyReview } from '../../src/db/reviews.ts'
import { tables } from '../../src/db/schema.ts'
import type { Database } from '../../src/db/schema.ts'
import { tempDatabase, tempFolder } from '../db/temp-database.ts'
import { openExchange, parties } from '../support/exchange.ts'
import type { Service } from '../support/http-service.ts'
import { sqliteOnly } from '../support/new-database.ts'
import { partnerClient } from '../support/partners.ts'
import { publishLog } from '../support/publish-log.ts'
import { receiptFacts, submission, workerSigned } from '../support/receipts.ts'
import { expectRefusal, registrationBody, requestJson, signOath } from '../support/requests.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { useServices } from '../support/use-service.ts'
import { ed25519Key, evmWallet, nearWallet, signedBody } from '../support/wallets.ts'
import type { TestWallet } from '../support/wallets.ts'

allowSlowTests('fills the budget of twelve networks')

const services = useServices()
const limited = (options: Parameters<typeof services.start>[0] = {}) =>
  services.start({ limits: 'on', ...options })

type Kept =
  /** Counted here. Rows of `log_queue` become entries of the log. */
  | 'for ever'
  /** Deleted by the builder or by the next write, at the latest after 90 days. */
  | 'for a time'
  /** Their size does not depend on callers: one row, or one per rail, job, article or hour. */
  | 'bounded'
  /** A payment, or a transaction on a chain, for each row. */
  | 'paid'

const kept: Readonly<Record<keyof Database, Kept>> = {
  polls: 'bounded',
  evidence: 'bounded',
  rail_state: 'bounded',
  backfills: 'bounded',
  aggregate_cursors: 'bounded',
  hourly_aggregates: 'bounded',
  job_runs: 'bounded',
  article_views: 'bounded',
  meta: 'bounded',
  escrow_events: 'paid',
  escrow_pacts: 'paid',
  escrow_readings: 'bounded',
  leases: 'bounded',
  log_checkpoints: 'bounded',
  persisted_counters: 'bounded',
  publications: 'for a time',
  answers: 'for a time',
  used_messages: 'for a time',
  idempotency_keys: 'for a time',
  network_disputes: 'for a time',
  rate_tokens: 'for a time',
  email_codes: 'for a time',
  email_sends: 'for a time',
  alert_deliveries: 'for a time',
  reputation_reviews: 'for a time',
  log_queue: 'for a time',
  log_entries: 'for ever',
  log_tiles: 'for ever',
  flags: 'for ever',
  events: 'for ever',
  names: 'for ever',
  payments: 'paid',
  workers: 'for ever',
  worker_skills: 'for ever',
  claims: 'for ever',
  oath_history: 'for ever',
  partners: 'for ever',
  subscription_changes: 'for ever',
  feedback: 'for ever',
  skill_proposals: 'for ever',
  applications: 'for ever',
  alert_subscriptions: 'for ever',
  receipts: 'for ever',
  receipt_checks: 'for ever',
  reputation_ledger: 'for ever',
  reputation: 'for ever',
  payer_sums: 'for ever',
  payers: 'for ever',
  statements: 'for ever',
  statements_due: 'for a time',
  disputes: 'for ever',
  dispute_steps: 'for ever',
  jobs: 'for ever',
  job_skills: 'for ever',
  job_bids: 'for ever',
  job_deliveries: 'for ever',
  job_transitions: 'for ever',
}

test('a new table is counted, or said to be temporary, before it can be added', () => {
  expect(Object.keys(kept).toSorted()).toEqual(Object.keys(tables).toSorted())
})

interface Amount {
  readonly rows: number
  readonly bytes: number
  readonly units: number
  /** The units without those for the bytes of requests. */
  readonly ofRows: number
}

/** Rows and used bytes of all tables that are kept for ever, with their indexes and the files of the log, and the units charged. */
async function amountOf(
  { actions }: Service,
  size: 'pgsize' | 'pgsize - unused' = 'pgsize - unused',
) {
  const { db } = actions.database
  let rows = 0
  for (const [name, duration] of Object.entries(kept)) {
    if (duration !== 'for ever') continue
    const counted = await sql<{ n: number }>`select count(*) as n from ${sql.table(name)}`.execute(
      db,
    )
    rows += counted.rows[0]?.n ?? 0
  }
  const used = await sql<{ name: string; bytes: number }>`
    select tbl_name as name, sum(${sql.raw(size)}) as bytes from dbstat join sqlite_master using (name) group by tbl_name
  `.execute(db)
  const inTables = used.rows.filter(({ name }) =>
    Object.entries(kept).some(([table, duration]) => table === name && duration === 'for ever'),
  )
  const inLog = await sql<{
    bytes: number
  }>`select coalesce(sum(length(entry) + 34), 0) as bytes from log_entries`.execute(db)
  return {
    rows,
    bytes: inTables.reduce((sum, { bytes }) => sum + bytes, inLog.rows[0]?.bytes ?? 0),
  }
}

/** The units that one network was charged on a day with a write. */
async function unitsOf({ actions, app }: Service): Promise<number> {
  await app.counters.flush()
  const { db } = actions.database
  const counts = await db.selectFrom('persisted_counters').select(['name', 'body']).execute()
  const stored = counts.find(({ name }) => name.startsWith('stored'))?.body
  return stored?.readUInt32LE(stored.length - 4) ?? 0
}

/** Counts the units that the bodies of requests cost, which are no rows. */
function countBodies(): () => number {
  let units = 0
  const { fetch } = globalThis
  vi.spyOn(globalThis, 'fetch').mockImplementation((to, init) => {
    units += typeof init?.body === 'string' ? storageUnits(0, Buffer.byteLength(init.body)) : 0
    return fetch(to, init)
  })
  return () => units
}

/** Adds to the log what the service has queued, and a set of documents for each build that the writes have requested. */
function createBuilder(service: Service) {
  const { actions } = service
  const dir = tempFolder()
  let sets = actions.nudges()
  return async (): Promise<void> => {
    const entries = Array.from({ length: actions.nudges() - sets }, (_, at) => {
      const id = String(sets + at).padStart(64, '0')
      const extra = { version: 1000 + sets + at }
      return { kind: 'snapshot', id, sha256: id, subject: 'snapshot', extra } as const
    })
    sets = actions.nudges()
    await actions.database.write(async (tx) => {
      await queueEntries(tx, entries)
      // Days pass at once, which the log takes for a jump of the clock.
      const signed = await findCheckpoint(tx, 'signed')
      if (signed === null) return
      const { name: _name, ...checkpoint } = signed
      await putCheckpoint(tx, 'accepted', checkpoint)
    })
    await publishLog(actions, dir)
  }
}

const skills = Array.from({ length: 32 }, (_, at) => `s-${at}`)
const txHash = `0x${'7'.repeat(64)}`
const block = { number: 30_000_000, hash: `0x${'8'.repeat(64)}` } as const

describe('each kind of write', () => {
  sqliteOnly(
    'reads the sizes of the pages of SQLite',
    'a stranger pays for each kind of write at least a unit for each row and kilobyte that it adds for ever',
    async () => {
      const service = await limited()
      const { actions, clock } = service
      const { database } = actions
      const exchange = await openExchange(service)
      const build = createBuilder(service)
      const ofBodies = countBodies()
      const [alice, bob, carol] = [evmWallet('alice'), evmWallet('bob'), evmWallet('carol')]
      const send = async (path: string, body: object, method = 'POST') => {
        clock.advance(1000)
        const { status, body: answer } = await requestJson(service, `/api/v1${path}`, {
          method,
          body,
        })
        expect([200, 201, 202], JSON.stringify(answer)).toContain(status)
        return answer
      }
      const asPartner = async (
        wallet: TestWallet,
        method: 'DELETE' | 'PATCH' | 'POST',
        path: string,
        body?: object,
      ) => {
        clock.advance(1000)
        const answer = await partnerClient(service, wallet)(method, `/api/v1${path}`, body)
        expect([200, 201, 202], JSON.stringify(answer.body)).toContain(answer.status)
        return answer.body
      }
      const known = [...actions.reference().skills].slice(0, 32)
      const now = () => isoTime(clock.now())
      const oath = (kind: 'claim' | 'partner' | 'worker', wallet: TestWallet) =>
        signOath(service, kind, wallet, now())
      const register = async (key: string) =>
        send(
          '/workers/register',
          await registrationBody(service, alice, {
            skills: known,
            display_name: 'Alice',
            receipt_key: ed25519Key(key).base64,
            oath_signature: await oath('worker', alice),
          }),
        )
      const claimed = (wallet: TestWallet, fields: object) => async () =>
        send(
          '/claim',
          await signedBody(
            wallet,
            'claim',
            { display_name: 'A', oath_signature: await oath('claim', wallet), ...fields },
            { nowMs: clock.now() },
          ),
        )
      const receipt = async (fields: object) => {
        const facts = receiptFacts(bob, { from_wallet: carol.address, ...fields })
        return await send(
          '/receipts',
          await submission(bob, workerSigned(facts, ed25519Key('own')), clock.now()),
        )
      }
      let disputeId = ''
      let jobId = ''
      let receiptId = ''
      let subscription = ''
      const path = '/api/v1/rails'
      const hashAt = async (at: string) => sha256Hex(await (await fetch(service.url + at)).text())
      let later: (() => Promise<void>) | null = null
      const runLater = () => later?.()
      const writes: Readonly<Record<string, () => Promise<unknown>>> = {
        'first registration': () => register('one'),
        'another receipt_key': () => register('two'),
        'claim by wallet': claimed(alice, {}),
        'claim by wallet with an e-mail': async () => {
          const email = 'c@ledger.example'
          await claimed(carol, { email })()
          const [, code] = /is (\w{8})\./.exec(actions.emails.at(-1)?.text ?? '') ?? []
          await send('/claim', { email, code })
        },
        signup: async () => {
          const oath_signature = await oath('partner', bob)
          await asPartner(bob, 'POST', '/partners/signup', {
            handle: 'bob',
            display_name: 'B',
            tier: 'free',
            timestamp: now(),
            oath_signature,
          })
        },
        profile: () => asPartner(bob, 'PATCH', '/partners/me', { display_name: 'Other' }),
        'attestation endpoint': async () => {
          const [url, timestamp] = ['https://a.example/', now()]
          const text = messages.attestationEndpoint('agent-income-ledger', {
            timestamp,
            handle: 'bob',
            url,
          })
          await send(
            '/partners/bob/attestation-endpoint',
            { url, wallet: bob.address, timestamp, signature: await bob.sign(text) },
            'PATCH',
          )
        },
        subscription: async () => {
          subscription = String(
            (await asPartner(bob, 'POST', '/alerts/subscribe', { url: 'https://a.example/' }))[
              'id'
            ],
          )
        },
        'end of a subscription': () =>
          asPartner(bob, 'DELETE', `/alerts/subscriptions/${subscription}`),
        application: () =>
          asPartner(bob, 'POST', '/opportunities/apply', {
            rail: 'x402',
            worker_wallet: bob.address,
            message: 'M',
          }),
        'expired job': async () => {
          await exchange.post({
            title: 'T',
            description: 'D',
            skills,
            deadline: isoTime(clock.now() + hourMs),
          })
          later = async () => {
            clock.advance(2 * hourMs)
            await expireJobs(database, clock.now())
          }
        },
        'job whose work is accepted by the deadline': async () => {
          await exchange.post({ title: 'T', description: 'D', skills })
          await exchange.delivered()
          later = async () => {
            clock.advance(10 * dayMs)
            const { active: key } = actions.keys.exchange()
            await acceptUnanswered(database, { key, siteUrl: actions.site.url, nowMs: clock.now() })
          }
        },
        dispute: async () => {
          const sha256 = await hashAt(path)
          disputeId = String(
            (
              await send(
                '/disputes',
                await signedBody(
                  bob,
                  'dispute',
                  { target: { path, sha256 }, claim: 'C' },
                  { nowMs: clock.now() },
                ),
              )
            )['dispute_id'],
          )
        },
        'withdrawn dispute': async () =>
          send(
            `/disputes/${disputeId}/withdraw`,
            await signedBody(bob, 'dispute', { dispute_id: disputeId }, { nowMs: clock.now() }),
          ),
        receipt: () => receipt({}),
        'receipt with a transaction that the chain confirms': async () => {
          receiptId = String(
            (await receipt({ chain: 'base', tx_hash: txHash, occurred_at: now() }))['receipt_id'],
          )
          const transfers = [
            {
              logIndex: 1,
              from: parseWallet(carol.address).id,
              to: parseWallet(bob.address).id,
              value: 10_000_000n,
            },
          ]
          const gone = { gone: [] }
          const mined = (finality: 'soft' | 'safe' | 'final'): TransactionFacts => ({
            kind: 'mined',
            block: { ...block, atMs: clock.now(), finality },
            transfers,
          })
          later = async () => {
            for (const facts of [
              { kind: 'not found', ...gone },
              { kind: 'pending', ...gone },
              mined('soft'),
              mined('safe'),
              mined('final'),
            ] as const) {
              clock.advance(hourMs)
              await database.write((tx) =>
                applyFacts(tx, { chain: 'base', txHash }, facts, {
                  random: actions.random,
                  nowMs: clock.now(),
                  tally: { ...noTally },
                }),
              )
            }
            const review = {
              receiptId,
              worker: parseWallet(bob.address).id,
              display: bob.address,
              payer: parseWallet(carol.address).id,
            }
            const old = {
              link: null,
              isHub: false,
              reason: 'R',
              party: evmWallet('funder').id,
              knownSince: '2020-01-01T00:00:00.000Z',
            }
            const linked = { ...old, link: 'L' }
            for (const [stage, found] of [old, linked].entries()) {
              clock.advance(10 * dayMs)
              await database.write((tx) => applyReview(tx, review, stage, found, now()))
            }
          }
        },
        'receipt with the longest texts': () =>
          receipt({
            summary: '🦊'.repeat(500),
            evidence_url: `https://a.example/${'x'.repeat(1900)}`,
          }),
        'dispute with the longest texts': async () =>
          send(
            '/disputes',
            await signedBody(
              alice,
              'dispute',
              {
                target: { path, sha256: await hashAt(path) },
                claim: '🦊'.repeat(2000),
                figure: '🦊'.repeat(80),
              },
              { nowMs: clock.now() },
            ),
          ),
        'job with the longest texts': async () => {
          const { id } = await exchange.post({
            title: '🦊'.repeat(160),
            description: '🦊'.repeat(8000),
            skills: skills.map((skill) => skill.padEnd(64, 'x')),
            deadline: isoTime(clock.now() + 3 * dayMs),
          })
          const { id: bid_id } = await exchange.bid(id, 'worker', { proposal: '🦊'.repeat(4000) })
          await exchange.act('poster', id, 'award', { bid_id })
          jobId = id
        },
        'delivery with the longest text': async () => {
          const note = '🦊'.repeat(2000)
          const statement = await exchange.statement(parties.worker, jobId, { note })
          expect((await exchange.act('worker', jobId, 'deliver', statement)).status).toBe(201)
        },
        feedback: () => send('/feedback', { message: 'M' }),
        'proposed skill': () =>
          send('/skills', {
            name: 'Other skill',
            category: 'data-ml',
            surface: ['x402'],
            description: 'A skill that nobody has.',
          }),
      }
      const table: Record<string, Amount> = {}
      for (const [name, write] of Object.entries(writes)) {
        clock.advance(dayMs - (clock.now() % dayMs))
        await build()
        const before = await amountOf(service)
        later = null
        const bodies = ofBodies()
        await write()
        const units = await unitsOf(service)
        const ofRows = units - ofBodies() + bodies
        await runLater()
        await build()
        const { rows, bytes } = await amountOf(service)
        table[name] = {
          rows: rows - before.rows,
          bytes: bytes - before.bytes,
          units,
          ofRows,
        }
      }
      for (const [name, { rows, bytes, units, ofRows }] of Object.entries(table)) {
        expect(
          [rows <= ofRows, bytes <= 1000 * units],
          `${name}: ${rows} rows, ${bytes} bytes, ${units} units, of which ${ofRows} for rows`,
        ).toEqual([true, true])
      }
    },
  )
})

test('a write that the database runs again after a conflict is charged once', async () => {
  const database = await tempDatabase()
  const write: typeof database.write = async (work, locks) => {
    const undone = new Error('undone')
    const first = database.write(async (tx) => {
      await work(tx)
      throw undone
    }, locks)
    await expect(first).rejects.toBe(undone)
    return await database.write(work, locks)
  }
  const charged: number[] = []
  for (const actions of [{ database }, { database: { ...database, write } }]) {
    const service = await limited({ actions })
    const body = { message: `M ${charged.length}` }
    expect((await requestJson(service, '/api/v1/feedback', { body })).status).toBe(201)
    charged.push(await unitsOf(service))
  }
  expect(charged[0]).toBeGreaterThan(0)
  expect(charged[1]).toBe(charged[0])
})

describe('a day of an attacker', () => {
  /** Sends from an address until a write is refused. Returns the number of accepted writes and the refusal. */
  async function flood(
    service: Service,
    address: string,
    next: (at: number) => Promise<{ path: string; body: object }>,
  ) {
    for (let accepted = 0; ; accepted += 1) {
      service.clock.advance(1000)
      const { path, body } = await next(accepted)
      const headers = { 'X-Forwarded-For': address, 'User-Agent': `${address} ${accepted}` }
      const answer = await requestJson(service, `/api/v1${path}`, { body, headers })
      if (answer.status !== 201) return { accepted, refusal: answer }
    }
  }

  sqliteOnly(
    'reads the sizes of the pages of SQLite',
    'a stranger with one IPv4 address adds at most 2,000 rows and 2 MB a day for ever, and a /48 at most ten times as much',
    async () => {
      const service = await limited({ trustedProxies: ['127.0.0.1'] })
      const build = createBuilder(service)
      const known = [...service.actions.reference().skills].slice(0, 32)
      const [own, texts] = [
        ed25519Key('own'),
        { summary: '🦊'.repeat(500), evidence_url: `https://a.example/${'x'.repeat(1900)}` },
      ]
      const register = async (at: number) => ({
        path: '/workers/register',
        body: await registrationBody(service, nearWallet(`w ${at}`), { skills: known }),
      })
      const submit = async (at: number) => {
        const worker = evmWallet('worker')
        const receipt = workerSigned(receiptFacts(worker, { ...texts, amount_usdc: at + 1 }), own)
        return { path: '/receipts', body: await submission(worker, receipt, service.clock.now()) }
      }
      const feedback = (at: number) =>
        Promise.resolve({ path: '/feedback', body: { message: `${at} ${'🦊'.repeat(3990)}` } })
      const grownBy = async (
        attack: () => Promise<void>,
      ): Promise<Pick<Amount, 'bytes' | 'rows'>> => {
        await build()
        const before = await amountOf(service, 'pgsize')
        await attack()
        await build()
        const after = await amountOf(service, 'pgsize')
        return { rows: after.rows - before.rows, bytes: after.bytes - before.bytes }
      }
      for (const [address, write] of [
        ['203.0.113.1', register],
        ['203.0.113.2', submit],
      ] as const) {
        const { rows, bytes } = await grownBy(async () => {
          const { accepted, refusal } = await flood(service, address, write)
          expect(accepted).toBeGreaterThan(40)
          expectRefusal(refusal, 429, 'rate_limited')
          expect(refusal.body['details']).toMatch(
            /^More than 2000 units of storage in a UTC day per IPv4 address/,
          )
          expect(Number(refusal.headers.get('retry-after'))).toBeGreaterThan(hourMs / 1000)
        })
        expect(rows).toBeLessThanOrEqual(2000)
        expect(bytes).toBeLessThanOrEqual(2_000_000)
      }
      const { rows, bytes } = await grownBy(async () => {
        const perNetwork: number[] = []
        for (let network = 1; network <= 12; network += 1) {
          const { accepted, refusal } = await flood(service, `2001:db8:1:${network}::1`, feedback)
          expectRefusal(refusal, 429, 'rate_limited')
          perNetwork.push(accepted)
        }
        expect(perNetwork.slice(1, 10)).toEqual(Array.from({ length: 9 }, () => perNetwork[0]))
        expect(perNetwork.at(-1)).toBe(0)
      })
      expect(rows).toBeLessThanOrEqual(20_000)
      expect(bytes).toBeLessThanOrEqual(20_000_000)
      const other = await requestJson(service, '/api/v1/feedback', {
        body: { message: 'M' },
        headers: { 'X-Forwarded-For': '2001:db8:2::1' },
      })
      expect(other.status).toBe(201)
      service.clock.advance(dayMs)
      const next = await registrationBody(service, nearWallet('w 0'), { skills: known })
      const headers = { 'X-Forwarded-For': '203.0.113.1' }
      expect(
        (await requestJson(service, '/api/v1/workers/register', { body: next, headers })).status,
      ).toBe(200)
    },
  )
})
