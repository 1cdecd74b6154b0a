/** The facts of a request that the rules of the ledger use. */
export type Intent =
  | {
      readonly kind: 'register'
      readonly name: string | null
      readonly looks: string | null
      readonly skills: readonly string[]
      readonly isOutside: boolean
      readonly receiptKey: string | null
    }
  | {
      readonly kind: 'receipt'
      readonly id: string
      readonly to: string
      readonly payer: string | null
      readonly platform: string | null
      readonly publicKey: string | null
      readonly amountMicro: number
    }
  | { readonly kind: 'claim'; readonly name: string; readonly looks: string }
  | {
      readonly kind: 'ask'
      readonly email: string
      readonly name: string
      readonly looks: string
      readonly to: { readonly id: string; readonly display: string } | null
    }
  | { readonly kind: 'code'; readonly email: string; readonly hash: string }
  | {
      readonly kind: 'signup'
      readonly handle: string
      readonly name: string
      readonly looks: string
      readonly tier: 'free' | 'starter'
    }
  | {
      readonly kind: 'profile'
      readonly named: { readonly name: string; readonly looks: string } | null
      readonly website: string | null
      readonly bindsBody: boolean | null
    }
  | { readonly kind: 'free' }
  | { readonly kind: 'leave' }
  | { readonly kind: 'subscribe'; readonly url: string; readonly rails: readonly string[] | null }
  | { readonly kind: 'unsubscribe'; readonly id: string }
  | { readonly kind: 'try'; readonly id: string }
  | { readonly kind: 'apply'; readonly rail: string; readonly worker: string }
  | { readonly kind: 'attest'; readonly handle: string; readonly url: string }
  | { readonly kind: 'post'; readonly title: string; readonly deadlineMs: number }
  | { readonly kind: 'bid'; readonly job: string; readonly priceMicro: number }
  | { readonly kind: 'award'; readonly job: string; readonly bid: string }
  | { readonly kind: 'deliver'; readonly job: string }
  | { readonly kind: 'accept'; readonly job: string }
  | { readonly kind: 'dispute'; readonly job: string }
  | { readonly kind: 'cancel'; readonly job: string }
  | { readonly kind: 'feedback'; readonly text: string }
  | { readonly kind: 'propose'; readonly text: string; readonly slug: string }

export interface Proof {
  readonly wallet: string
  readonly sha: string
  readonly timestampMs: number
}

export interface RequestFacts {
  readonly intent: Intent
  /** Empty for unsigned requests. */
  readonly wallet: string
  /** As answers print it. */
  readonly display: string
  readonly proofs: readonly Proof[]
  readonly key: string | null
  readonly caller: string
  readonly requestSha: string
  readonly address: string
  readonly agent: string
  readonly isBound: boolean
  /** Refusals that precede all others. */
  readonly flaws: readonly string[]
}

export type Of<Kind extends Intent['kind']> = Omit<RequestFacts, 'intent'> & {
  readonly intent: Extract<Intent, { readonly kind: Kind }>
}
