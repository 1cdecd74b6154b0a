/** Writes, drawn at random and signed by the client of the ledger: mostly valid, at times late, forged or altered. */
import type { Reference } from '../../src/actions/reference.ts'
import { sha256Hex } from '../../src/auth/messages.ts'
import { prepareCall } from '../../src/client/call.ts'
import type { RouteId } from '../../src/contract/routes.ts'
import type { WalletKind } from '../../src/core/wallet.ts'
import { issued, receiptFacts, workerSigned } from '../support/receipts.ts'
import { ed25519Key, evmWallet, nearWallet, solanaWallet, testService } from '../support/wallets.ts'
import type { TestWallet } from '../support/wallets.ts'
import type { Call } from './http-call.ts'
import { namesOf } from './random.ts'
import type { Chance } from './random.ts'
import type { Fields, RowOf, Snapshot } from './verdict/snapshot.ts'

const operations = {
  register: 'registerWorker',
  receipt: 'submitReceipt',
  claim: 'claimSpot',
  signup: 'signupPartner',
  attest: 'updateAttestationEndpoint',
  profile: 'updateMyPartner',
  /** To the free tier: paid tiers are not simulated. */
  free: 'changeSubscription',
  leave: 'cancelSubscription',
  subscribe: 'subscribeAlerts',
  unsubscribe: 'unsubscribeAlerts',
  try: 'testAlerts',
  enable: 'enableAlerts',
  apply: 'applyToRail',
  post: 'postJob',
  bid: 'bidOnJob',
  award: 'awardJob',
  deliver: 'deliverJob',
  accept: 'acceptJob',
  dispute: 'disputeJob',
  cancel: 'cancelJob',
  feedback: 'submitFeedback',
  propose: 'proposeSkill',
} as const satisfies Readonly<Record<string, RouteId>>

export type Kind = keyof typeof operations
export const kinds = namesOf(operations)
export const simulatedRoutes: readonly RouteId[] = Object.values(operations)

export const siteUrl = 'https://ledger.test'
export const platformKey = ed25519Key('platform')
const ownKey = ed25519Key('own')
const otherKey = ed25519Key('other')

/** Solana and EVM signatures are slow: one such wallet each. */
export const wallets = [
  { kind: 'near', ...nearWallet('ada') },
  { kind: 'near', ...nearWallet('bob') },
  { kind: 'solana', ...solanaWallet('cyd') },
  { kind: 'evm', ...evmWallet('dan') },
] as const satisfies readonly (TestWallet & { readonly kind: WalletKind })[]
type Wallet = (typeof wallets)[number]

const handles = ['first', 'second', 'third', 'fourth'] as const
/** Some look alike. */
const names = ['Orion', '0rion', 'Barn', 'Bam', 'Vivid Vole'] as const
const addresses = ['192.0.2.7', '192.0.2.8', '2001:db8::9'] as const
const minuteMs = 60_000

export interface SimulatedRequest extends Call {
  readonly number: number
  readonly kind: Kind
  readonly body: Fields
  /** Over method, path and raw body, as the ledger stores it. */
  readonly sha256: string
  /** Hashes of the signed messages, each of which authorizes one write of its wallet. */
  readonly messages: readonly string[]
  /** Null for unsigned requests. */
  readonly signedAtMs: number | null
  /** The signing wallet, or a hash of the address; owns the idempotency key. */
  readonly caller: string
  readonly key: string | null
  /** True for a signature that covers the body byte for byte. */
  readonly isBound: boolean
  /** True for a request that was forged or altered. */
  readonly isFalse: boolean
}

interface Circumstances {
  readonly number: number
  readonly kind: Kind
  readonly db: Snapshot
  readonly nowMs: number
  readonly reference: Reference
  readonly chance: Chance
  /** True: a valid request that continues a scripted sequence; false: mostly valid, at times anything. */
  readonly isWilling: boolean
  readonly keyedHash: (purpose: string, text: string) => string
}

/** A call before it is signed; without a wallet it is unsigned. */
interface Draft {
  readonly wallet?: Wallet
  readonly params?: Readonly<Record<string, string>>
  readonly body?: object
  readonly oath?: 'claim' | 'partner'
}

type Draw = (at: Circumstances) => Draft | null

function drawWallet(chance: Chance): Wallet {
  return wallets[chance.happens(0.03) ? 3 : chance.below(3)] ?? wallets[0]
}

function partnerOf(db: Snapshot, wallet: string): RowOf<'partners'> | undefined {
  return db.partners.find((row) => row.wallet === wallet)
}

function walletOf(id: string | undefined): Wallet | undefined {
  return wallets.find((wallet) => wallet.id === id)
}

function drawPartner({ chance, db }: Circumstances): Wallet {
  const partners = wallets.filter(({ id }) => partnerOf(db, id) !== undefined)
  const drawn = partners[chance.below(partners.length)]
  return drawn !== undefined && chance.happens(0.9) ? drawn : drawWallet(chance)
}

/** An existing webhook, mostly used by its owner. */
const useWebhook: Draw = (at) => {
  const { chance, db, kind } = at
  const found = db.alert_subscriptions[chance.below(db.alert_subscriptions.length)]
  const owner = walletOf(found?.wallet)
  const wallet = owner !== undefined && chance.happens(0.9) ? owner : drawPartner(at)
  const params = { id: found?.id ?? `sub_${'0'.repeat(24)}` }
  return { wallet, params, ...(kind === 'unsubscribe' ? {} : { body: {} }) }
}

/** Statuses in which a request continues a job. */
const continued: Readonly<Partial<Record<Kind, readonly string[]>>> = {
  bid: ['open'],
  award: ['open'],
  deliver: ['awarded'],
  accept: ['delivered', 'disputed'],
  dispute: ['delivered'],
}

/** The next step of a job, mostly by the right party; of the newest job if willing, so that begun jobs are finished. */
const useJob: Draw = (at) => {
  const { db, kind, chance, isWilling, number } = at
  const fitting = db.jobs.filter(
    (job) =>
      continued[kind]?.includes(job.status) === true && (kind !== 'award' || job.bids_count > 0),
  )
  const from = fitting.length > 0 && chance.happens(0.9) ? fitting : db.jobs
  const job = isWilling ? fitting.at(-1) : from[chance.below(from.length)]
  if (job === undefined) return null
  const bids = db.job_bids.filter((bid) => bid.job_id === job.id)
  const awardee = bids.find(({ id }) => id === job.awarded_bid)?.bidder
  const party = kind === 'deliver' ? awardee : kind === 'bid' ? undefined : job.poster
  const others = wallets.filter(
    ({ id }) => id !== job.poster && partnerOf(db, id)?.status === 'active',
  )
  const owner = kind === 'bid' ? others[chance.below(others.length)] : walletOf(party)
  const wallet =
    owner !== undefined && (isWilling || chance.happens(0.85)) ? owner : drawWallet(chance)
  const bodies: Partial<Record<Kind, object>> = {
    bid: { price_usdc: (1 + chance.below(40)) / 2, eta_hours: 1, proposal: `Bid ${number}.` },
    award: { bid_id: bids[chance.below(bids.length)]?.id ?? `bid_${'0'.repeat(24)}` },
    deliver: { uri: 'https://files.example.com/a', content_sha256: 'ab'.repeat(32) },
    dispute: { reason: `Late ${number}.` },
  }
  return { wallet, params: { id: job.id }, body: bodies[kind] ?? {} }
}

const draws: Readonly<Record<Kind, Draw>> = {
  register: ({ chance, reference }) => {
    const [known = ''] = reference.skills.keys()
    const key = chance.weighted({ none: 6, own: 2, other: 1 })
    const body = {
      skills: chance.happens(0.15) ? [known, 'my-own-skill'] : [known],
      ...(chance.happens(0.8) ? { display_name: chance.pick(names) } : {}),
      ...(key === 'none' ? {} : { receipt_key: (key === 'own' ? ownKey : otherKey).base64 }),
    }
    return { wallet: drawWallet(chance), body }
  },
  /** From a small pool, so that contents repeat with other signatures. Half of them share one pair of wallets. */
  receipt: ({ chance }) => {
    const sender = drawWallet(chance)
    const isIssued = chance.happens(0.75)
    const isOfPair = isIssued && chance.happens(0.5)
    const isForOther = isIssued || chance.happens(0.1)
    const worker = isOfPair ? wallets[0] : isForOther ? drawWallet(chance) : sender
    const payer = isOfPair ? wallets[1] : chance.happens(0.85) ? drawWallet(chance) : null
    const facts = receiptFacts(worker, {
      amount_usdc: chance.pick(['0.000001', '1', '2.5', '33.333333'] as const),
      occurred_at: `2026-11-0${1 + chance.below(9)}T12:00:00.000Z`,
      ...(payer === null ? {} : { from_wallet: payer.address }),
    })
    const body = isIssued ? issued(facts, platformKey) : workerSigned(facts, ownKey)
    return { wallet: sender, body }
  },
  claim: ({ chance }) => ({
    wallet: drawWallet(chance),
    body: { display_name: chance.pick(names) },
    oath: 'claim',
  }),
  signup: ({ chance, db, isWilling }) => {
    const free = [0, 1, 2].filter((one) => partnerOf(db, wallets[one]?.id ?? '') === undefined)
    const drawn = !isWilling && chance.happens(0.05) ? 3 : chance.below(3)
    const index = isWilling ? (free[chance.below(free.length)] ?? drawn) : drawn
    const isOwn = isWilling || chance.happens(0.85)
    const body = {
      handle: isOwn ? (handles[index] ?? handles[0]) : chance.pick(handles),
      display_name: chance.pick(names),
      tier: isWilling || chance.happens(0.9) ? 'free' : 'starter',
    }
    return { wallet: wallets[index] ?? wallets[0], body, oath: 'partner' }
  },
  attest: ({ chance, db }) => {
    const handle = chance.pick(handles)
    const owner = walletOf(db.partners.find((row) => row.handle === handle)?.wallet)
    const wallet = chance.happens(0.8) && owner !== undefined ? owner : drawWallet(chance)
    const url = `https://partner.example/attest/${chance.below(4)}`
    return { wallet, params: { handle }, body: { url } }
  },
  profile: (at) => {
    const { chance } = at
    const website = `https://partner.example/${chance.below(3)}`
    const name = chance.happens(0.5) ? { display_name: chance.pick(names) } : {}
    return { wallet: drawPartner(at), body: { website, ...name } }
  },
  free: (at) => ({ wallet: drawPartner(at), body: { tier: 'free' } }),
  leave: (at) => ({ wallet: drawPartner(at) }),
  subscribe: (at) => {
    const rails = at.chance.happens(0.5) ? { rails: ['x402'] } : {}
    const url = `https://hooks.partner.example/${at.number}`
    return { wallet: drawPartner(at), body: { url, ...rails } }
  },
  unsubscribe: useWebhook,
  try: useWebhook,
  enable: useWebhook,
  apply: (at) => ({
    wallet: drawPartner(at),
    body: {
      rail: at.chance.pick(['x402', 'olas', 'unheard-of'] as const),
      worker_wallet: drawWallet(at.chance).address,
      message: `Application ${at.number}.`,
    },
  }),
  post: (at) => {
    const { chance, number, nowMs, isWilling, db } = at
    const active = wallets.filter(({ id }) => partnerOf(db, id)?.status === 'active')
    const drawn = isWilling ? active[chance.below(active.length)] : undefined
    const hours = isWilling ? 30 : chance.pick([2, 30, 24 * 20] as const)
    const body = {
      title: `Job ${number}`,
      description: 'Work.',
      skills: ['my-own-skill'],
      budget_usdc: '40.5',
      deadline: new Date(nowMs + hours * 60 * minuteMs).toISOString(),
    }
    return { wallet: drawn ?? drawPartner(at), body }
  },
  bid: useJob,
  award: useJob,
  deliver: useJob,
  accept: useJob,
  dispute: useJob,
  cancel: useJob,
  feedback: ({ number }) => ({ body: { message: `Text ${number}` } }),
  propose: ({ number }) => ({
    body: {
      name: `Unheard of ${number}`,
      category: 'research-analysis',
      surface: ['x402'],
      description: `Something new, ${number}`,
    },
  }),
}

/** Null if there is nothing to request. */
export async function drawRequest(at: Circumstances): Promise<SimulatedRequest | null> {
  const draft = draws[at.kind](at)
  return draft === null ? null : await signed(at, draft)
}

async function signed(at: Circumstances, draft: Draft): Promise<SimulatedRequest> {
  const { number, kind, nowMs, reference, chance, isWilling, keyedHash } = at
  const { wallet, oath, params, body } = draft
  const isForged = wallet !== undefined && !isWilling && chance.happens(0.04)
  const isLate = wallet !== undefined && !isWilling && chance.happens(0.1)
  const by = isForged ? (wallets.find((one) => one !== wallet) ?? wallets[0]) : wallet
  const offByMs = isLate ? chance.pick([-6, -4, 4, 6] as const) * minuteMs : 0
  const signedAtMs = nowMs + offByMs + chance.below(50)
  const isShared = wallet !== undefined && !isWilling && chance.happens(0.3)
  const { request } = await prepareCall(
    {
      siteUrl,
      serviceName: testService,
      clock: { now: () => signedAtMs },
      random: chance,
      signer:
        wallet === undefined || by === undefined
          ? null
          : { kind: wallet.kind, wallet: wallet.address, signMessage: by.sign },
    },
    operations[kind],
    {
      params,
      body,
      oath: oath && reference.oaths.get(oath),
      // Keys of a small pool meet other requests.
      ...(isShared ? { idempotencyKey: `key-${chance.below(12)}` } : {}),
    },
  )
  const isKeyed = wallet === undefined || isShared || (!isWilling && chance.happens(0.3))
  const { 'Idempotency-Key': given = null, ...headers } = request.headers
  const key = isKeyed ? given : null
  const isAltered = wallet !== undefined && !isWilling && body !== undefined && chance.happens(0.04)
  const raw = isAltered ? altered(request.body ?? '', chance) : (request.body ?? '')
  const path = request.url.slice(siteUrl.length)
  const address = chance.pick(addresses)
  const once = request.signed.filter(({ carrier }) =>
    ['Authorization', 'signature'].includes(carrier),
  )
  return {
    number,
    kind,
    method: request.method,
    path,
    raw,
    address,
    key,
    body: { ...body },
    headers: { ...headers, ...(key === null ? {} : { 'Idempotency-Key': key }) },
    sha256: requestSha256({ method: request.method, path }, raw),
    messages: once.map(({ sha256 }) => sha256),
    signedAtMs: wallet === undefined ? null : signedAtMs,
    caller: wallet?.id ?? keyedHash('remote', address),
    isBound: request.headers['Authorization'] !== undefined,
    isFalse: isForged || isAltered,
  }
}

/** Changes one byte, but not the unused bits before the end of a base64 text. */
function altered(raw: string, chance: Chance): string {
  const at = chance.below(raw.length)
  if (raw[at + 1] === '=' || raw[at] === '=') return altered(raw, chance)
  return `${raw.slice(0, at)}${raw[at] === 'x' ? 'y' : 'x'}${raw.slice(at + 1)}`
}

/** Repeats a request; `isRespelled` changes its bytes and not its meaning. */
export function repeatRequest(
  request: SimulatedRequest,
  number: number,
  isRespelled: boolean,
): SimulatedRequest {
  if (!isRespelled || request.raw === '') return { ...request, number }
  const raw = `${request.raw} `
  const isFalse = request.isFalse || request.isBound
  return { ...request, number, raw, isFalse, sha256: requestSha256(request, raw) }
}

function requestSha256({ method, path }: Pick<Call, 'method' | 'path'>, raw: string): string {
  return sha256Hex(`${method} ${path}\n${sha256Hex(raw)}`)
}
