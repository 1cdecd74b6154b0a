import {
  integer,
  oneOf,
  optionalInteger,
  optionalOneOf,
  optionalText,
  references,
  text,
  textKey,
} from '../table.ts'
import type { TableDefinition } from '../table.ts'

export const alertTables = {
  alert_subscriptions: {
    columns: {
      id: textKey,
      wallet: text,
      url: text,
      /** JSON array of slugs; null for all. */
      rails: optionalText,
      severity: optionalOneOf('info', 'warning', 'critical'),
      status: oneOf('active', 'disabled'),
      status_reason: optionalText,
      /** Events up to this sequence number are not delivered. */
      after_seq: integer,
      created_at: text,
      disabled_at: optionalText,
    },
    withoutRowid: true,
    indexes: {
      alert_subscriptions_by_wallet: '(wallet, created_at)',
    },
  },

  alert_deliveries: {
    columns: {
      id: textKey,
      subscription_id: references(text, 'alert_subscriptions (id) on delete cascade'),
      event_seq: optionalInteger,
      type: text,
      /** The signed body, byte for byte. */
      payload: text,
      status: oneOf('pending', 'delivered', 'dead'),
      attempts: integer,
      next_attempt_at: optionalText,
      leased_until: optionalText,
      /** Fencing token: grows with every lease and voids the results of earlier holders. */
      lease_version: integer,
      last_status: optionalInteger,
      last_error: optionalText,
      created_at: text,
      finished_at: optionalText,
    },
    indexes: {
      alert_deliveries_due: "(next_attempt_at) where status = 'pending'",
      alert_deliveries_finished: "(finished_at) where status <> 'pending'",
    },
    uniqueIndexes: {
      alert_deliveries_once: '(subscription_id, event_seq) where event_seq is not null',
    },
  },
} as const satisfies Record<string, TableDefinition>
