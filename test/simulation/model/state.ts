/** What the ledger should hold, kept the plain way. Rows are never changed, only replaced: a copy of a state is cheap. */

export interface Worker {
  readonly name: string | null
  readonly skills: readonly string[]
  readonly receiptKey: string | null
  readonly registeredMs: number
  readonly updatedMs: number
}

export interface Name {
  readonly wallet: string
  readonly looks: string
  readonly sinceMs: number
}

export interface Receipt {
  readonly id: string
  readonly to: string
  readonly from: string | null
  readonly submitter: string
  readonly kind: 'platform' | 'signed'
  readonly platform: string | null
  readonly amountMicro: number
  readonly atMs: number
  readonly jobId: string | null
}

export interface Entry {
  readonly wallet: string
  readonly receiptId: string
  readonly payer: string
  readonly rank: number | null
  readonly amountMicro: number
  readonly valueMicro: number
  readonly atMs: number
}

export interface Partner {
  readonly wallet: string
  readonly name: string
  readonly url: string | null
  /** When the endpoint was signed; null where it never was. */
  readonly signedMs: number | null
  readonly atMs: number
}

export interface Bid {
  readonly id: string
  readonly priceMicro: number
  readonly status: string
}

export interface Job {
  readonly poster: string
  readonly title: string
  readonly status: string
  readonly deadlineMs: number
  /** By the wallet of the bidder. */
  readonly bids: ReadonlyMap<string, Bid>
  readonly awardee: string | null
  readonly deliveredMs: number | null
  readonly receiptId: string | null
}

/** kind, wallet, handle, action, time. */
export type AuditRow = readonly [string, string, string | null, string, string]
/** job, event, role, actor, status after it. */
export type Move = readonly [string, string, string, string | null, string]

export interface Note {
  readonly id: string
  readonly text: string
  readonly address: string
  readonly agent: string
  readonly atMs: number
}

export interface Kept {
  readonly requestSha: string
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  readonly untilMs: number
}

export interface State {
  readonly workers: Map<string, Worker>
  /** By kind and wallet. */
  readonly names: Map<string, Name>
  readonly receipts: Map<string, Receipt>
  readonly entries: Entry[]
  readonly claims: Map<string, { readonly name: string; readonly atMs: number }>
  readonly partners: Map<string, Partner>
  readonly jobs: Map<string, Job>
  /** id, job, wallet. */
  readonly deliveries: (readonly [string, string, string])[]
  readonly moves: Move[]
  readonly audit: AuditRow[]
  readonly feedback: Note[]
  readonly proposals: Note[]
  /** By wallet and hash of the message. */
  readonly used: Map<string, Kept>
  /** By caller and key. */
  readonly keys: Map<string, Kept>
  /** When the file was put back from a backup; null where it never was. */
  readonly restoredMs: number | null
}

export function emptyState(): State {
  return {
    workers: new Map(),
    names: new Map(),
    receipts: new Map(),
    entries: [],
    claims: new Map(),
    partners: new Map(),
    jobs: new Map(),
    deliveries: [],
    moves: [],
    audit: [],
    feedback: [],
    proposals: [],
    used: new Map(),
    keys: new Map(),
    restoredMs: null,
  }
}

export function copyOf(state: State): State {
  return {
    workers: new Map(state.workers),
    names: new Map(state.names),
    receipts: new Map(state.receipts),
    entries: [...state.entries],
    claims: new Map(state.claims),
    partners: new Map(state.partners),
    jobs: new Map(state.jobs),
    deliveries: [...state.deliveries],
    moves: [...state.moves],
    audit: [...state.audit],
    feedback: [...state.feedback],
    proposals: [...state.proposals],
    used: new Map(state.used),
    keys: new Map(state.keys),
    restoredMs: state.restoredMs,
  }
}

export const dayMs = 86_400_000

export function iso(timeMs: number): string {
  return new Date(timeMs).toISOString()
}

/** The score of a wallet in USDC, by the published formula. */
export function scoreOf(entries: readonly Entry[], wallet: string, nowMs: number): number {
  let sum = 0
  for (const entry of entries) {
    if (entry.wallet !== wallet) continue
    sum += entry.valueMicro * Math.exp((entry.atMs - nowMs) / (60 * dayMs))
  }
  return Math.max(0, sum) / 1e6
}

/** Receipts that count, by wallet. */
export function countedOf(entries: readonly Entry[], wallet: string): readonly Entry[] {
  return entries.filter((entry) => entry.wallet === wallet && entry.rank !== null)
}

export function partnerOf(state: State, wallet: string): string | null {
  for (const [handle, partner] of state.partners) if (partner.wallet === wallet) return handle
  return null
}

/** A deadline that has passed ends what waits for it, whether or not anyone has written that down. */
export function statusAt(job: Job, nowMs: number): string {
  const isOver = nowMs >= job.deadlineMs && (job.status === 'open' || job.status === 'awarded')
  return isOver ? 'expired' : job.status
}

export function isLookAlike(state: State, kind: string, wallet: string): boolean {
  const own = state.names.get(`${kind} ${wallet}`)
  if (own === undefined) return false
  for (const other of state.names.values()) {
    if (other.wallet === wallet || other.looks !== own.looks) continue
    if (other.sinceMs < own.sinceMs || (other.sinceMs === own.sinceMs && other.wallet < wallet)) {
      return true
    }
  }
  return false
}
