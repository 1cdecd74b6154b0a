import type { Generated, GeneratedAlways } from 'kysely'

import type { ExpiryAction, SubscriptionStatus, TierName } from '../../core/partner.ts'

export interface PartnersTables {
  partners: PartnersTable
  persisted_counters: PersistedCountersTable
  subscription_changes: SubscriptionChangesTable
}

export interface PartnersTable {
  seq: Generated<number>
  handle: string
  /** Wallet `id`. */
  wallet: string
  display: string
  display_name: string
  email: string | null
  skills: string
  website: string | null
  bio_short: string | null
  require_body_signature: 0 | 1
  tier: TierName
  /** As last written; `subscriptionAt` gives the status at a time. */
  status: SubscriptionStatus
  /** Null for the free tier, and until the first payment. */
  renews_at: string | null
  /** JSON array of the paid periods, in order. */
  periods: Generated<string>
  on_expiry: Generated<ExpiryAction>
  oath_signed_at: string
  /** Wallet `id`; null after an operator released it. */
  attestation_wallet: string | null
  attestation_url: string | null
  attestation_signature_sha256: string | null
  attestation_signed_at: string | null
  /** Row of the last change in the oath history; compared by the next change. */
  attestation_oath_seq: number
  created_at: string
  updated_at: string
}

/** Append-only, enforced by triggers. */
export interface SubscriptionChangesTable {
  seq: GeneratedAlways<number>
  handle: string
  kind: 'paid' | 'credited' | 'free' | 'cancelled' | 'granted' | 'undone'
  payment_id: string | null
  tier: TierName
  price_micro_usdc: number
  paid_micro_usdc: number
  credit_micro_usdc: number
  from_at: string | null
  until_at: string | null
  answer: string
  created_at: string
}

interface PersistedCountersTable {
  name: string
  body: Buffer
}
