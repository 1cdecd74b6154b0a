import * as column from '../column.ts'
import type { TableDefinition } from '../table.ts'

export const paymentTables = {
  payments: {
    columns: {
      seq: column.sequence,
      id: column.unique(column.text),
      chain_id: column.integer,
      /** Lower case, like payer and nonce. */
      asset: column.check(column.text, '$ = lower($)'),
      payer: column.check(column.text, '$ = lower($)'),
      nonce: column.check(column.text, '$ = lower($)'),
      pay_to: column.text,
      amount_micro_usdc: column.check(column.integer, '$ > 0'),
      valid_after: column.integer,
      valid_before: column.integer,
      signature_sha256: column.text,
      purpose: column.oneOf('read', 'subscription'),
      resource: column.text,
      detail: column.optionalObject,
      settler: column.oneOf('local', 'facilitator'),
      state: column.oneOf('reserved', 'submitted', 'settled', 'failed', 'reconcile'),
      reason: column.optionalText,
      /** Stored before the broadcast; null until a facilitator reports it. */
      tx_hash: column.optionalText,
      block_number: column.optionalInteger,
      block_hash: column.optionalText,
      finality: column.optionalOneOf('latest', 'final', 'undone'),
      /** The service that works on the payment, until a time in Unix milliseconds of the database. */
      holder: column.optionalText,
      held_until: column.optionalInteger,
      reserved_at: column.text,
      submitted_at: column.optionalText,
      settled_at: column.optionalText,
      delivered_at: column.optionalText,
      final_at: column.optionalText,
    },
    constraints: [
      "check ((state = 'settled') = (settled_at is not null))",
      "check ((state = 'settled') = (finality is not null))",
      "check (state <> 'settled' or (tx_hash is not null and block_number is not null))",
      "check (delivered_at is null or state = 'settled')",
    ],
    indexes: {
      payments_open: "(state) where state in ('reserved', 'submitted')",
      payments_not_final: "(block_number) where finality = 'latest'",
      payments_undone: "(seq) where finality = 'undone'",
      payments_by_payer: '(payer, seq)',
      payments_by_state: '(state)',
    },
    uniqueIndexes: {
      payments_once: '(chain_id, asset, payer, nonce)',
    },
  },
} as const satisfies Record<string, TableDefinition>
