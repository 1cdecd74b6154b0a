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
  readonly tier: 'free' | 'starter'
  /** As it was written last; see `standingAt`. */
  readonly status: 'active' | 'pending' | 'cancelled'
  readonly website: string | null
  /** Its writes are taken only with a signature over the body. */
  readonly bindsBody: boolean
  readonly url: string | null
  /** When the endpoint was signed; null where it never was. */
  readonly signedMs: number | null
  readonly atMs: number
}

export interface Subscription {
  readonly wallet: string
  readonly url: string
  readonly rails: readonly string[] | null
  readonly atMs: number
  /** Deliveries that were asked for to try it out. */
  readonly tries: number
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
/** handle, kind, tier, time. */
export type ChangeRow = readonly [string, string, string, string]
/** id, partner, rail, worker, mode, time. */
export type ApplicationRow = readonly [string, string, string, string, string, string]
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
  /** What became of subscriptions to tiers. */
  readonly changes: ChangeRow[]
  /** Webhooks. */
  readonly subscriptions: Map<string, Subscription>
  readonly applications: ApplicationRow[]
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
    changes: [],
    subscriptions: new Map(),
    applications: [],
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
    changes: [...state.changes],
    subscriptions: new Map(state.subscriptions),
    applications: [...state.applications],
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
