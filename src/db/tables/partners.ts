import type { Generated } from 'kysely'

import type { SubscriptionStatus } from '../../core/partner.ts'

export interface PartnersTables {
  partners: PartnersTable
  kept_counts: KeptCountsTable
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
  tier: 'free' | 'starter' | 'pro' | 'team' | 'enterprise'
  /** As it was written; a period that has ended may not be yet, see `subscriptionAt`. */
  status: SubscriptionStatus
  /** Null for the free tier, and until the first payment. */
  renews_at: string | null
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

interface KeptCountsTable {
  name: string
  body: Buffer
  saved_at: string
}
