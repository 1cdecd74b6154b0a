/** All limits: requests and bytes per caller, the cost of a request, and the rows that one caller may write. */
import { dayMs, hourMs, minuteMs } from './time.ts'

/**
 * Cost units, which `limitPolicies.work` counts. A published document is read from memory; a handler reads the database.
 * Reads alone reach the limits of requests before they use up this budget.
 */
export const requestCosts = { memory: 1, database: 5, failedSignature: 20, outbound: 50 } as const

export interface Quota {
  /** Name in the `RateLimit` headers. */
  readonly name: string
  readonly quota: number
  readonly windowMs: number
  readonly what: string
  readonly per: string
  /** Advice to a refused caller. */
  readonly advice?: string
}

export interface LimitPolicy extends Quota {
  /** Null for a count that starts again at midnight UTC. */
  readonly burst: number | null
}

type QuotaText = Pick<Quota, 'what' | 'per' | 'advice'>

const host = 'IPv4 address or IPv6 /64'
const network = `${host} (ten times as many per /48)`

/** Keys are the values of the metric label `policy`. /48 and /64 are IPv6 networks. */
export const limitPolicies = {
  ip: perMinute('ip', 60, 120, { what: 'requests', per: host }),
  range: perMinute('range', 600, 1200, { what: 'requests', per: 'IPv6 /48' }),
  day: perDay('day', 1000, { what: 'requests', per: host }),
  /** An audit reads the whole log, so its reads have neither a daily count nor a part of the cost units. */
  other: perMinute('other', 300, 2400, {
    what: 'reads of the log, of proofs and of evidence, and requests for addresses that do not exist',
    per: network,
  }),
  wallet: perMinute('wallet', 300, 300, {
    what: 'signed requests',
    per: 'wallet, times the multiplier of its tier',
  }),
  /** New wallets cost nothing, so those without a paid tier share a limit. */
  unpaid: perMinute('signers', 600, 600, {
    what: 'signed requests',
    per: `${network}, for all wallets without a paid tier together`,
  }),
  /** Taken when a request arrives, and refunded once its signature is verified. */
  work: perMinute('work', 1500, 12_000, {
    what: 'cost units',
    per: network,
    advice: 'correct failing signatures and wait',
  }),
  reserve: perMinute('reserve', 60, 60, {
    what: 'signed requests',
    per: 'wallet with a recent valid signature, while its network has no cost units',
  }),
  wallet_bytes: perDay('wallet-bytes', 8_000_000, {
    what: 'bytes of writes',
    per: 'wallet, times the multiplier of its tier',
    advice: 'send shorter texts, wait for the next day, or subscribe to a higher tier',
  }),
  /** Rows and kilobytes: a network adds at most 2,000 rows and 2 MB a day to what is kept for ever. */
  stored: perDay('stored', 2000, {
    what: 'units of storage',
    per: `${network}, for all callers without a paid tier together`,
    advice:
      'wait for the next day, subscribe to a paid tier, or have a platform issue your receipts',
  }),
} as const satisfies Record<string, LimitPolicy>

/**
 * Units of a write with its `keptRows` and the bytes of its request. A row with its indexes and its copy in the log has at
 * most a kilobyte, beside the texts, which are stored up to twice.
 */
export function storageUnits(rows: number, bytes: number): number {
  return rows + Math.ceil(bytes / 500)
}

export type PolicyName = keyof typeof limitPolicies

function perMinute(name: string, quota: number, burst: number, text: QuotaText): LimitPolicy {
  return { name, quota, burst, windowMs: minuteMs, ...text }
}

function perDay(name: string, quota: number, text: QuotaText): LimitPolicy {
  return { name, quota, burst: null, windowMs: dayMs, ...text }
}

/** Multiplies the policies of a network for its /48, which contains 65,536 /64 networks. */
export const networksOfRange = 10

/** Rows that a partner may have at the same time. */
export const openQuotas = { jobs: 100, bids: 200, alertSubscriptions: 10 } as const

/** Rows that one caller may store in a window, counted in the transaction of the write. */
export const writeQuotas = {
  partnerWrites: perWindow(dayMs, 'partner-writes', 2000, {
    what: 'signed writes',
    per: 'partner, times the multiplier of its tier',
    advice: 'higher tiers allow more',
  }),
  applications: perWindow(hourMs, 'applications', 20, { what: 'applications', per: 'partner' }),
  unverifiedReceipts: perWindow(dayMs, 'unverified-receipts', 200, {
    what: 'self-signed receipts',
    per: 'worker',
    advice: 'submit receipts issued by a platform or confirmed on-chain, or wait',
  }),
  walletDisputes: perWindow(dayMs, 'disputes', 5, { what: 'disputes', per: 'wallet' }),
  /** New wallets cost nothing. */
  networkDisputes: perWindow(dayMs, 'disputes-network', 20, { what: 'disputes', per: network }),
  feedback: perWindow(hourMs, 'feedback', 5, {
    what: 'feedback entries',
    per: `${host} and User-Agent`,
  }),
  proposals: perWindow(hourMs, 'proposals', 10, { what: 'skill proposals', per: host }),
} as const satisfies Record<string, Quota>

function perWindow(windowMs: number, name: string, quota: number, text: QuotaText): Quota {
  return { name, quota, windowMs, ...text }
}

/**
 * Rows that a write adds to what is kept for ever, including those that the builder adds later. Nearly every write leads to a
 * set of documents, which is an entry of the log.
 */
export const keptRows = {
  /** Oath, claim, name, set. With an e-mail, its code stores all but the oath. */
  claim: 4,
  /** Profile, name, oath, two entries about keys, set; and a row for each skill. */
  registration: 6,
  /** Receipt, its entry, its line in a statement, set. */
  receipt: 4,
  /** Check with up to five verdicts, reputation with its entries at acceptance and two reviews, and four rows of sums. */
  transaction: 18,
  /** Dispute, step, its entry, set. */
  dispute: 4,
  /** Oath, partner, name, set. */
  signup: 4,
  /** Two rows of the oath history, set, and two rows of its own, such as a delivery and the transition of its job. */
  partnerWrite: 5,
  /** Oath, job, two transitions, receipt with its line in a statement, reputation, their entries, three rows of sums, two sets; a row for each skill. */
  job: 14,
  /** Feedback or a proposed skill, set. */
  message: 2,
} as const

/** E-mails in an hour. Plus- and dot-forms of an address share one mailbox. */
export const emailQuotas = { toEmail: 3, fromRemote: 10, fromRange: 30, all: 600 } as const

const windowNames: Readonly<Record<number, string>> = {
  [minuteMs]: 'a minute',
  [hourMs]: 'an hour',
  [dayMs]: '24 hours',
}

/** `More than 1000 requests in a UTC day per IPv4 address`; with the advice. */
export function excessText(limit: Quota & { readonly burst?: number | null }): string {
  const { quota, what, windowMs, burst, per, advice = 'wait and try again' } = limit
  const window = burst === null ? 'a UTC day' : windowNames[windowMs]
  return `More than ${quota} ${what} in ${window} per ${per}; ${advice}`
}

export type LimitDecision = ReturnType<typeof decide>

/**
 * `stored` is `next` of the previous decision. For an unknown key, pass any value up to `emptyValue`. Rates follow the
 * generic cell rate algorithm (ITU-T I.371) and store the theoretical arrival time in milliseconds.
 */
export function decide(policy: LimitPolicy, stored: number, nowMs: number, cost = 1) {
  const { quota, burst } = policy
  const emptyMs = emptyValue(policy, nowMs)
  const unit = unitOf(policy)
  const next = Math.max(stored, emptyMs) + cost * unit
  const spare = (burst ?? quota) * unit - (next - emptyMs)
  const endMs = burst === null ? emptyMs + dayMs : next
  if (spare < 0) {
    const retryAfterMs = burst === null ? endMs - nowMs : -spare
    return { allowed: false, remaining: 0, retryAfterMs, resetMs: endMs - nowMs, next: stored }
  }
  /** Units left after the request. */
  const remaining = Math.floor(spare / unit)
  return { allowed: true, remaining, retryAfterMs: 0, resetMs: endMs - nowMs, next }
}

export function multiplied(policy: LimitPolicy, multiplier: number): LimitPolicy {
  if (multiplier === 1) return policy
  const burst = policy.burst === null ? null : policy.burst * multiplier
  return { ...policy, quota: policy.quota * multiplier, burst }
}

export function valueAfterRefund(policy: LimitPolicy, stored: number, cost: number): number {
  return stored - cost * unitOf(policy)
}

/** Stored values up to this one are equivalent to an unknown key. A count is stored as the start of its day plus the count. */
export function emptyValue({ burst }: LimitPolicy, nowMs: number): number {
  return burst === null ? Math.floor(nowMs / dayMs) * dayMs : nowMs
}

/** The amount that one unit adds to the stored value: 1 to a count, the milliseconds between two units to a rate. */
export function unitOf({ burst, quota, windowMs }: LimitPolicy): number {
  return burst === null ? 1 : windowMs / quota
}
