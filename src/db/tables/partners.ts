import type { Generated, GeneratedAlways } from 'kysely'

import type { ExpiryAction, SubscriptionStatus, TierName } from '../../core/partner.ts'

export interface PartnersTables {
  partners: PartnersTable
  persisted_counters: PersistedCountersTable
  subscription_changes: SubscriptionChangesTable
}

export interface PartnersTable {
  /** In the order of signing up. */
  seq: Generated<number>
  handle: string
  /** The wallet's `id`; `display` is the form that answers print. */
  wallet: string
  display: string
  display_name: string
  /** Never answered to anyone. */
  email: string | null
  /** JSON array of slugs, in the order given. */
  skills: string
  website: string | null
  bio_short: string | null
  require_body_signature: 0 | 1
  tier: TierName
  /** As it was written; a period that has ended may not be yet, see `subscriptionAt`. */
  status: SubscriptionStatus
  /** Null for the free tier, and until the first payment. */
  renews_at: string | null
  /** JSON array of the paid periods, in order. */
  periods: Generated<string>
  on_expiry: Generated<ExpiryAction>
  oath_signed_at: string
  /** The `id` of the wallet whose signature moves the endpoint; null after an operator released it. */
  attestation_wallet: string | null
  attestation_url: string | null
  attestation_signature_sha256: string | null
  attestation_signed_at: string | null
  /** The row in the history of oaths that last changed the binding: what the next change compares with. */
  attestation_oath_seq: number
  created_at: string
  updated_at: string
}

/** Every change of a subscription. Rows are only ever added; triggers see to it. */
export interface SubscriptionChangesTable {
  seq: GeneratedAlways<number>
  handle: string
  kind: 'paid' | 'credited' | 'free' | 'cancelled' | 'granted' | 'undone'
  /** At most one row of a kind for each payment. */
  payment_id: string | null
  tier: TierName
  price_micro_usdc: number
  paid_micro_usdc: number
  credit_micro_usdc: number
  from_at: string | null
  until_at: string | null
  /** What the change was answered with. */
  answer: string
  created_at: string
}

interface PersistedCountersTable {
  name: string
  body: Buffer
}
