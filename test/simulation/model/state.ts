/** The state that the ledger should have. Rows are replaced and never changed, so a copy of a state is cheap. */

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
  /** As stored; see `standingAt`. */
  readonly status: 'active' | 'pending' | 'cancelled'
  readonly website: string | null
  /** Requires a signature over the body. */
  readonly bindsBody: boolean
  readonly url: string | null
  readonly signedMs: number | null
  readonly atMs: number
}

export interface Subscription {
  readonly wallet: string
  readonly url: string
  readonly rails: readonly string[] | null
  readonly atMs: number
  readonly afterSeq: number
  readonly isDisabled: boolean
}

/** A row of the event log. */
export interface Event {
  readonly seq: number
  readonly id: string
  readonly kind: string
  readonly rail: string | null
}

export interface WebhookDelivery {
  readonly subscription: string
  /** Null for a test. */
  readonly eventSeq: number | null
  readonly type: string
  readonly status: 'pending' | 'delivered' | 'dead'
  readonly attempts: number
  readonly fence: number
  readonly leasedUntilMs: number | null
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

export interface Payment {
  readonly id: string
  readonly payTo: string
  readonly amountMicro: number
  /** Unix seconds. */
  readonly validBefore: number
  readonly purpose: string
  readonly resource: string
  readonly state: 'reserved' | 'submitted' | 'settled' | 'failed'
  readonly txHash: string | null
  readonly blockNumber: number | null
  readonly blockHash: string | null
  readonly finality: 'latest' | 'final' | 'undone' | null
  readonly isDelivered: boolean
}

/** A spot on the leaderboard, of a wallet, an e-mail address or both. */
export interface Claim {
  readonly wallet: string | null
  /** Hash of the claiming address; null for a claim by key. */
  readonly email: string | null
  readonly name: string
  readonly atMs: number
}

export interface Send {
  readonly email: string
  readonly atMs: number
  readonly isKept: boolean
  /** The request; null for other requests. */
  readonly by: string | null
}

export interface Code {
  readonly name: string
  readonly looks: string
  readonly to: { readonly id: string; readonly display: string } | null
  /** Wrong attempts. */
  readonly tries: number
  readonly expiresMs: number
  /** Null until it is known which e-mail contained it. */
  readonly hash: string | null
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
  readonly claims: Map<string, Claim>
  /** By the hash of the address. */
  readonly codes: Map<string, Code>
  readonly sends: Send[]
  readonly partners: Map<string, Partner>
  readonly changes: ChangeRow[]
  readonly subscriptions: Map<string, Subscription>
  readonly events: Event[]
  /** The cursor of deliveries over events. */
  toldSeq: number
  readonly webhookDeliveries: Map<string, WebhookDelivery>
  readonly applications: ApplicationRow[]
  readonly jobs: Map<string, Job>
  /** id, job, wallet. */
  readonly deliveries: (readonly [string, string, string])[]
  readonly moves: Move[]
  readonly audit: AuditRow[]
  readonly feedback: Note[]
  readonly proposals: Note[]
  /** By payer and nonce. */
  readonly payments: Map<string, Payment>
  /** By wallet and hash of the message. */
  readonly used: Map<string, Kept>
  /** By caller and key. */
  readonly keys: Map<string, Kept>
  /** Null without a restore. */
  readonly restoredMs: number | null
}

export function emptyState(): State {
  return {
    workers: new Map(),
    names: new Map(),
    receipts: new Map(),
    entries: [],
    claims: new Map(),
    codes: new Map(),
    sends: [],
    partners: new Map(),
    changes: [],
    subscriptions: new Map(),
    events: [],
    toldSeq: 0,
    webhookDeliveries: new Map(),
    applications: [],
    jobs: new Map(),
    deliveries: [],
    moves: [],
    audit: [],
    feedback: [],
    proposals: [],
    payments: new Map(),
    used: new Map(),
    keys: new Map(),
    restoredMs: null,
  }
}

/** A copy with its own maps and lists; their items are shared. */
export function copyOf(state: State): State {
  const copies = Object.entries(state).map(([name, part]: [string, unknown]) => {
    if (part instanceof Map) return [name, new Map<unknown, unknown>(part)]
    return [name, Array.isArray(part) ? [...(part as readonly unknown[])] : part]
  })
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same members.
  return Object.fromEntries(copies) as State
}
