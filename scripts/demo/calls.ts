import { createClient } from '../../src/client/client.ts'
import type { LedgerClient } from '../../src/client/client.ts'
import { signReceipt } from '../../src/client/sign-receipt.ts'
import { newestOath } from '../../src/client/sign.ts'
import type { OathText } from '../../src/client/sign.ts'
import { ed25519Signer, evmSigner, parseSecretKey, receiptKeyOf } from '../../src/client/signers.ts'
import type { ReceiptKey, WalletSigner } from '../../src/client/signers.ts'
import type { Clock, Fetch, Random } from '../../src/core/deps.ts'
import { bytesToHex } from '../../src/core/hex.ts'
import { dayMs, hourMs, isoTime } from '../../src/core/time.ts'

/** The ledger that receives the calls. */
export interface CalledLedger {
  readonly origin: string
  readonly serviceName: string
  readonly oaths: readonly OathText[]
  readonly deps: { readonly clock: Clock; readonly random: Random; readonly fetch: Fetch }
}

interface DemoCalls extends CalledLedger {
  readonly platform: { readonly slug: string; readonly key: ReceiptKey }
}

export const demoRails = ['x402', 'olas', 'near', 'sherlock', 'superteam_earn'] as const
const workers = [
  ['Marginalia', ['proofreading', 'technical-documentation']],
  ['Null Island Maps', ['data-labeling']],
  ['Hexagon Audits', ['smart-contract-auditing']],
  ['Tern', ['translation']],
  ['Plain Text Works', ['api-reference-writing', 'proofreading']],
  ['Quiet Parser', ['web-scraping', 'data-labeling']],
  ['Second Reader', ['proofreading']],
  ['Lantern', ['market-research']],
] as const satisfies readonly (readonly [string, readonly string[]])[]

const jobs = [
  ['Proofread release notes', 'About 900 words, American English.', '15', 'accepted'],
  ['Check 200 product records', 'Names, units and categories of a CSV file.', '40', 'accepted'],
  ['Summarise a governance forum', 'One page, with links to every source.', '60', 'disputed'],
  ['Translate an onboarding guide', 'English to German, 1,400 words.', '80', 'delivered'],
  ['Write an API reference', 'Twelve endpoints from an OpenAPI file.', '120', 'awarded'],
  ['Review a small contract', '240 lines of Solidity, findings by severity.', '300', 'open'],
  ['Label support tickets', 'Five labels, 500 tickets.', '25', 'cancelled'],
] as const

const receiptsPerWorker = 6

export async function fillLedger(calls: DemoCalls): Promise<void> {
  await Promise.all(workers.map(async (_worker, at) => await addWorker(calls, at)))
  const poster = await addPartner(calls, 'northwind', 'Northwind Labs')
  const bidder = await addPartner(calls, 'marginalia', 'Marginalia')
  const other = await addPartner(calls, 'second-reader', 'Second Reader')
  for (const job of jobs) await runJob(calls, { poster, bidder, other }, job)
  await poster.call('subscribeAlerts', {
    body: { url: 'https://hooks.example.com/ledger', severity: 'critical' },
  })
  const reader = clientOf(calls)
  for (const [message, rating] of [
    ['The history charts answer most of my questions. Could the CSV have the status as well?', 5],
    ['Which rails count refunds? The methodology of two of them does not say.', 4],
  ] as const) {
    await reader.call('submitFeedback', { body: { message, rating, page: '/' } })
  }
}

async function addWorker(calls: DemoCalls, at: number): Promise<void> {
  const { deps, oaths, platform } = calls
  const { clock, random } = deps
  const [name, skills] = workers[at % workers.length] ?? workers[0]
  const seed = random.bytes(32)
  const signer = at % 3 === 2 ? ed25519Signer('solana', seed) : await evmSigner(seed)
  const client = clientOf(calls, signer)
  const ownKey = receiptKeyOf(parseSecretKey(`seed:${bytesToHex(random.bytes(32))}`))
  await client.call('registerWorker', {
    body: { display_name: name, skills: [...skills], receipt_key: ownKey.publicKey },
    oath: newestOath(oaths, 'worker'),
  })
  await client.call('claimSpot', {
    body: { display_name: name },
    oath: newestOath(oaths, 'claim'),
  })
  for (let number = 0; number < receiptsPerWorker; number += 1) {
    const payer = await evmSigner(random.bytes(32))
    const facts = {
      rail: demoRails[(at + number) % demoRails.length] ?? demoRails[0],
      to_wallet: signer.wallet,
      from_wallet: payer.wallet,
      amount_usdc: (5 + ((at * 37 + number * 53) % 190)) / 2,
      asset_symbol: 'USDC',
      occurred_at: isoTime(clock.now() - (number * 11 + at) * dayMs - hourMs),
      summary: `${skills[0]} for a demo client`,
    } as const
    const isOwn = number === receiptsPerWorker - 1
    const body = isOwn
      ? signReceipt(facts, ownKey)
      : signReceipt(facts, platform.key, platform.slug)
    await client.call('submitReceipt', { body })
  }
}

export async function addPartner(
  calls: CalledLedger,
  handle: string,
  name: string,
): Promise<LedgerClient> {
  const client = clientOf(calls, await evmSigner(calls.deps.random.bytes(32)))
  await client.call('signupPartner', {
    body: { handle, display_name: name, tier: 'free' },
    oath: newestOath(calls.oaths, 'partner'),
  })
  return client
}

async function runJob(
  { deps }: DemoCalls,
  by: Readonly<Record<'poster' | 'bidder' | 'other', LedgerClient>>,
  [title, description, budget, end]: (typeof jobs)[number],
): Promise<void> {
  const deadline = isoTime(deps.clock.now() + 21 * dayMs)
  const skills = ['proofreading']
  const body = { title, description, skills, budget_usdc: budget, deadline }
  const { id } = await by.poster.call('postJob', { body })
  const params = { id }
  if (end === 'cancelled') {
    await by.poster.call('cancelJob', { params })
    return
  }
  const offer = { price_usdc: budget, eta_hours: 24, proposal: 'Done twice before, see receipts.' }
  const bid = await by.bidder.call('bidOnJob', { params, body: offer })
  await by.other.call('bidOnJob', { params, body: { ...offer, eta_hours: 48 } })
  if (end === 'open') return
  await by.poster.call('awardJob', { params, body: { bid_id: bid.id } })
  if (end === 'awarded') return
  const work = {
    uri: `https://work.example.com/${id}`,
    content_sha256: bytesToHex(deps.random.bytes(32)),
  }
  await by.bidder.call('deliverJob', { params, body: work })
  if (end === 'accepted') await by.poster.call('acceptJob', { params })
  if (end === 'disputed') {
    await by.poster.call('disputeJob', { params, body: { reason: 'Two sources are missing.' } })
  }
}

function clientOf(
  { origin, serviceName, deps }: CalledLedger,
  signer?: WalletSigner,
): LedgerClient {
  return createClient({ baseUrl: origin, serviceName, ...deps, signer })
}
