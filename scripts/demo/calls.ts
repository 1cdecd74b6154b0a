/** Signed calls of invented workers, partners and platforms, and what they write, in days before the demo is created. */
import { createClient } from '../../src/client/client.ts'
import type { LedgerClient } from '../../src/client/client.ts'
import { signReceipt } from '../../src/client/sign-receipt.ts'
import type { ReceiptFacts, SignedReceipt } from '../../src/client/sign-receipt.ts'
import { newestOath } from '../../src/client/sign.ts'
import type { OathText } from '../../src/client/sign.ts'
import { ed25519Signer, evmSigner, parseSecretKey, receiptKeyOf } from '../../src/client/signers.ts'
import type { ReceiptKey, WalletSigner } from '../../src/client/signers.ts'
import { encodeBase58 } from '../../src/core/base58.ts'
import type { Clock, Fetch, Random } from '../../src/core/deps.ts'
import { microPerUsdc } from '../../src/core/money.ts'
import { dayMs, isoTime, secondMs } from '../../src/core/time.ts'
import { digest } from './world.ts'
import type { DemoWorld } from './world.ts'

const feedback = [
  ['The history charts answer most of my questions. Could the CSV have the status as well?', 5],
  ['Which rails count refunds? The methodology of two of them does not say.', 4],
] as const

const partners = [
  ['northwind', 'Northwind Labs', 70],
  ['marginalia', 'Marginalia', 69],
  ['second-reader', 'Second Reader', 68],
  ['fen-and-sons', 'Fen & Sons', 18],
  ['kite-index', 'Kite Index', 3],
] as const

export const demoPlatform = { platform: 'northlight', name: 'Northlight Payroll' }

/** The ledger that receives the calls. */
export interface CalledLedger {
  readonly origin: string
  readonly serviceName: string
  readonly oaths: readonly OathText[]
  readonly nowMs: number
  readonly deps: { readonly clock: Clock; readonly random: Random; readonly fetch: Fetch }
  readonly pay: DemoWorld['pay']
  /** What the operator writes with `admin disputes`. */
  readonly decide: (
    id: string,
    event: 'answered' | 'upheld' | 'rejected',
    text: string,
  ) => Promise<void>
}

export interface Step {
  readonly day: number
  readonly run: () => Promise<unknown>
}

/** Name, skills, day of registration, receipts of a platform, rails. The first receipt comes a day later. */
const workers = [
  ['Marginalia', ['proofreading', 'technical-documentation'], 88, 20, ['tallowgate', 'pennywhelk']],
  ['Null Island Maps', ['data-labeling'], 84, 9, ['larkspindle', 'copperdill']],
  ['Hexagon Audits', ['smart-contract-auditing'], 86, 14, ['hollowquay', 'candlewharf']],
  ['Tern', ['translation'], 71, 6, ['mossferry_market']],
  [
    'Plain Text Works',
    ['api-reference-writing', 'proofreading'],
    66,
    11,
    ['wickerloom', 'tallowgate'],
  ],
  ['Quiet Parser', ['web-scraping', 'data-labeling'], 52, 8, ['thimblecroft']],
  ['Second Reader', ['proofreading'], 40, 5, ['rookpasture', 'juniperlatch']],
  ['Lantern', ['market-research'], 33, 3, ['moorlantern']],
  ['Oxbow Ledgers', ['data-labeling'], 21, 2, ['saltlathe']],
  ['Paper Weather', ['translation'], 6, 1, ['juniperlatch']],
  ['Kite Index', ['web-scraping'], 3, 0, []],
] as const

/** Platform receipts of these customers, who also pay others. */
const customers = ['Aldermill', 'Bright Fen', 'Cartwheel', 'Dovetail', 'Eastbank']

/**
 * Receipts of 25 USDC that a worker signs: the day, the chain, the amount that was transferred (null: by no transaction), and
 * how the transaction ends. `replaced`: a day and a half later its block is gone.
 */
const transfers = [
  [82, 'base', 25, 'replaced'],
  [64, 'base', 25, 'mined'],
  [45, 'base', 25, 'mined'],
  [36, 'arbitrum', 25, 'mined', 'pact-42'],
  [30, 'base', 9, 'mined'],
  [27, 'base', 25, 'reverted'],
  [19, 'base', 25, 'replaced'],
  [18, 'base', null, 'mined'],
  [12, 'base', 25, 'mined'],
  [9, 'base', 25, 'mined', 'pact-44'],
  [8, 'solana', null, 'mined'],
  [0.2, 'base', 25, 'waiting'],
  [0.006, 'base', 25, 'mined'],
  [0.001, 'base', 25, 'mined'],
] as const
/** Of the workers, who signs them. */
const transferee = 2

/** Title, description, budget, day of posting, and the steps, one a day. */
const jobs = [
  [
    'Proofread release notes',
    'About 900 words, American English.',
    '15',
    58,
    ['award', 'deliver', 'accept'],
  ],
  [
    'Check 200 product records',
    'Names, units and categories of a CSV file.',
    '40',
    44,
    ['award', 'deliver', 'accept'],
  ],
  [
    'Summarise a governance forum',
    'One page, with links to every source.',
    '60',
    26,
    ['award', 'deliver', 'dispute'],
  ],
  ['Draft a glossary', 'Sixty terms with one example each.', '55', 24, ['award', 'deliver']],
  ['Label support tickets', 'Five labels, 500 tickets.', '25', 22, ['cancel']],
  ['Transcribe three interviews', 'Forty minutes in all, with time marks.', '90', 31, []],
  [
    'Translate an onboarding guide',
    'English to German, 1,400 words.',
    '80',
    7,
    ['award', 'deliver'],
  ],
  ['Write an API reference', 'Twelve endpoints from an OpenAPI file.', '120', 4, ['award']],
  ['Review a small contract', '240 lines of Solidity, findings by severity.', '300', 2, []],
  ['Compare three price feeds', 'A table of gaps over one month.', '70', 0.3, []],
] as const

/** Claim of the worker about one of its receipts, how it ends, and the words of the operator. */
const disputes = [
  [
    'I paid this receipt twice and got one half back; the amount must be 12.50.',
    'answered',
    'The chain shows one transfer of 25.00 to this worker. Please name the transaction of the refund.',
  ],
  [
    'The block was replaced, and the payment was sent again in another transaction.',
    'upheld',
    'Correct: the receipt stays reversed, and the worker may submit the second transaction.',
  ],
  [
    'This receipt is not mine.',
    'rejected',
    'The receipt carries the signature of the key that this worker registered.',
  ],
  ['The summary names the wrong customer.', 'withdrawn', ''],
  ['The work was for another rail.', 'open', ''],
] as const

export async function planCalls(calls: CalledLedger): Promise<readonly Step[]> {
  const steps = [...(await planWorkers(calls)), ...(await planJobs(calls))]
  const reader = clientOf(calls)
  for (const [message, rating] of feedback) {
    const run = () => reader.call('submitFeedback', { body: { message, rating, page: '/' } })
    steps.push({ day: 5, run })
  }
  return steps.toSorted((a, b) => b.day - a.day)
}

async function planWorkers(calls: CalledLedger): Promise<readonly Step[]> {
  const { nowMs, oaths, pay, decide } = calls
  const steps: Step[] = []
  const payers = await Promise.all(customers.map(async (name) => await evmSigner(seedOf(name))))
  const payer = (at: number) => payers[at % payers.length]?.wallet ?? ''
  for (const [place, [name, skills, since, count, rails]] of workers.entries()) {
    const seed = seedOf(name)
    const signer = place % 4 === 3 ? ed25519Signer('solana', seed) : await evmSigner(seed)
    const client = clientOf(calls, signer)
    const own = keyOf(name)
    const receiptOf = (day: number, more: Partial<ReceiptFacts>): ReceiptFacts => ({
      rail: rails[0] ?? 'tallowgate',
      to_wallet: signer.wallet,
      amount_usdc: 25,
      asset_symbol: 'USDC',
      occurred_at: isoTime(nowMs - day * dayMs - secondMs),
      summary: `${skills[0]} for an invented client`,
      ...more,
    })
    const submit = (body: SignedReceipt) => client.call('submitReceipt', { body })
    steps.push({
      day: since,
      run: async () => {
        const body = { display_name: name, skills: [...skills], receipt_key: own.publicKey }
        await client.call('registerWorker', { body, oath: newestOath(oaths, 'worker') })
        const oath = newestOath(oaths, 'claim')
        await client.call('claimSpot', { body: { display_name: name }, oath })
      },
    })
    for (let number = 0; number < count; number += 1) {
      const day = (since - 1) * (1 - number / count)
      const facts = receiptOf(day, {
        rail: rails[number % rails.length] ?? 'tallowgate',
        from_wallet: payer(place + (number % (1 + (place % 4)))),
        amount_usdc: (8 + ((place * 37 + number * 53) % 150)) / 2,
      })
      const body = signReceipt(facts, keyOf(demoPlatform.platform), demoPlatform.platform)
      steps.push({ day, run: () => submit(body) })
    }
    const unverified = signReceipt(receiptOf(since / 2, { amount_usdc: 18 }), own)
    steps.push({ day: since / 2, run: () => submit(unverified) })
    if (place !== transferee) continue
    for (const [number, [day, chain, usdc, fate, job]] of transfers.entries()) {
      const atMs = nowMs - day * dayMs - secondMs
      const from = payer(number)
      const payment = { atMs, from: from.toLowerCase(), to: signer.wallet.toLowerCase() }
      const tx =
        chain === 'solana'
          ? encodeBase58(new Uint8Array(64).fill(7))
          : usdc === null
            ? `0x${digest('unknown')}`
            : pay({
                ...payment,
                chain,
                microUsdc: usdc * microPerUsdc,
                fate: fate === 'replaced' ? 'mined' : fate,
                goneAtMs: fate === 'replaced' ? atMs + 1.5 * dayMs : Infinity,
              })
      const facts = receiptOf(day, {
        chain,
        tx_hash: tx,
        ...(chain === 'solana' ? {} : { from_wallet: from }),
        ...(job === undefined ? {} : { rail: 'pact', job_id: job }),
      })
      const body = signReceipt(facts, own)
      steps.push({
        day,
        run: async () => {
          const { receipt_id: id } = await submit(body)
          if (fate === 'replaced' && day < 30) await dispute(id, 1)
          if (fate === 'mined' && usdc === 9) await dispute(id, 0)
        },
      })
    }
    const dispute = async (receipt: string, at: number) => {
      const [claim, end, words] = disputes[at] ?? disputes[0]
      const body = { target: { receipt_id: receipt }, claim, figure: 'amount_usdc' }
      const { dispute_id: id } = await client.call('openDispute', { body })
      if (end === 'withdrawn') {
        await client.call('withdrawDispute', { params: { id }, body: { dispute_id: id } })
      } else if (end !== 'open') {
        await decide(id, end, words)
      }
    }
    const others = async () => {
      const { receipts } = await client.call('listReceipts', {
        query: { wallet: signer.wallet, status: 'verified' },
      })
      for (const [at, { receipt_id: id }] of receipts.slice(0, 3).entries())
        await dispute(id, at + 2)
    }
    steps.push({ day: 3, run: others })
  }
  return steps
}

async function planJobs(calls: CalledLedger): Promise<readonly Step[]> {
  const { nowMs, oaths } = calls
  const steps: Step[] = []
  const [poster, bidder, other] = await Promise.all(
    partners.map(async ([handle, name, day]) => {
      const client = clientOf(calls, await evmSigner(seedOf(name)))
      const body = { handle, display_name: name, tier: 'free' } as const
      const oath = newestOath(oaths, 'partner')
      steps.push({ day, run: () => client.call('signupPartner', { body, oath }) })
      return client
    }),
  )
  if (poster === undefined || bidder === undefined || other === undefined) return steps
  for (const [title, description, budget, day, moves] of jobs) {
    let [id, bid] = ['', '']
    const ends = nowMs + (21 - day) * dayMs
    const body = { title, description, skills: ['proofreading'], budget_usdc: budget }
    const post = async () => {
      const deadline = isoTime(ends)
      ;({ id } = await poster.call('postJob', { body: { ...body, deadline } }))
      const offer = { price_usdc: budget, eta_hours: 24, proposal: 'Done twice, see receipts.' }
      const params = { id }
      ;({ id: bid } = await bidder.call('bidOnJob', { params, body: offer }))
      await other.call('bidOnJob', { params, body: { ...offer, eta_hours: 48 } })
    }
    const move = {
      award: () => poster.call('awardJob', { params: { id }, body: { bid_id: bid } }),
      deliver: () => {
        const work = { uri: `https://work.example/${id}`, content_sha256: digest(title) }
        return bidder.call('deliverJob', { params: { id }, body: work })
      },
      accept: () => poster.call('acceptJob', { params: { id } }),
      dispute: () =>
        poster.call('disputeJob', { params: { id }, body: { reason: 'Two sources are missing.' } }),
      cancel: () => poster.call('cancelJob', { params: { id } }),
    }
    steps.push({ day, run: post })
    for (const [at, name] of moves.entries()) steps.push({ day: day - at - 1, run: move[name] })
  }
  const alert = { url: 'https://hooks.example/ledger', severity: 'critical' } as const
  steps.push({ day: 0.5, run: () => poster.call('subscribeAlerts', { body: alert }) })
  return steps
}

function clientOf(
  { origin, serviceName, deps }: CalledLedger,
  signer?: WalletSigner,
): LedgerClient {
  return createClient({ baseUrl: origin, serviceName, ...deps, signer })
}

function seedOf(name: string): Uint8Array {
  return Uint8Array.from(Buffer.from(digest(`seed of ${name}`), 'hex'))
}

/** The key that signs the receipts of a platform or worker. */
export function keyOf(name: string): ReceiptKey {
  return receiptKeyOf(parseSecretKey(`seed:${digest(`receipt key of ${name}`)}`))
}
