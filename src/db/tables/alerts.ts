import type { Severity } from '../../core/flags/kind.ts'

export interface AlertsTables {
  alert_subscriptions: AlertSubscriptionsTable
  alert_deliveries: AlertDeliveriesTable
}

export interface AlertSubscriptionsTable {
  id: string
  wallet: string
  url: string
  /** JSON array of slugs; null for all. */
  rails: string | null
  severity: Severity | null
  status: 'active' | 'disabled'
  status_reason: string | null
  /** Events up to this sequence number are not delivered. */
  after_seq: number
  created_at: string
  disabled_at: string | null
}

export interface AlertDeliveriesTable {
  id: string
  subscription_id: string
  event_seq: number | null
  type: string
  /** The signed body, byte for byte. */
  payload: string
  status: 'pending' | 'delivered' | 'dead'
  attempts: number
  next_attempt_at: string | null
  leased_until: string | null
  /** Fencing token: grows with every lease and voids the results of earlier holders. */
  lease_version: number
  last_status: number | null
  last_error: string | null
  created_at: string
  finished_at: string | null
}
