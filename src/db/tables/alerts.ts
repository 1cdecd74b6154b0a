import * as column from '../column.ts'
import type { TableDefinition } from '../table.ts'

export const alertTables = {
  alert_subscriptions: {
    columns: {
      id: column.textKey,
      wallet: column.text,
      url: column.text,
      /** Null for all rails and the events without a rail. */
      rails: column.optionalStrings,
      severity: column.optionalOneOf('info', 'warning', 'critical'),
      /** `pending` until the endpoint has answered the challenge. */
      status: column.oneOf('pending', 'active', 'disabled'),
      status_reason: column.optionalText,
      /** Events up to this sequence number are not delivered. */
      after_seq: column.integer,
      created_at: column.text,
      disabled_at: column.optionalText,
      /** Failed attempts since the last success. */
      failures: column.integer,
      /** The first of these failures; null after a success. */
      failing_since: column.optionalText,
      last_error: column.optionalText,
      /** Nothing is sent before this time. */
      paused_until: column.optionalText,
    },
    withoutRowid: true,
    indexes: {
      alert_subscriptions_by_wallet: '(wallet, created_at)',
    },
  },

  alert_deliveries: {
    columns: {
      id: column.textKey,
      subscription_id: column.references(column.text, 'alert_subscriptions (id) on delete cascade'),
      event_seq: column.optionalInteger,
      type: column.text,
      /** The signed body, byte for byte. */
      payload: column.text,
      status: column.oneOf('pending', 'delivered', 'dead'),
      attempts: column.integer,
      /** Null after the end, and for events that wait for the proof of the endpoint. */
      next_attempt_at: column.optionalText,
      leased_until: column.optionalText,
      /** Fencing token: increases with every lease, so that results of earlier holders are refused. */
      lease_version: column.integer,
      last_status: column.optionalInteger,
      last_error: column.optionalText,
      created_at: column.text,
      finished_at: column.optionalText,
    },
    indexes: {
      alert_deliveries_due: "(subscription_id, next_attempt_at) where status = 'pending'",
      alert_deliveries_finished: "(finished_at) where status <> 'pending'",
    },
    uniqueIndexes: {
      alert_deliveries_once: '(subscription_id, event_seq) where event_seq is not null',
    },
  },
} as const satisfies Record<string, TableDefinition>
