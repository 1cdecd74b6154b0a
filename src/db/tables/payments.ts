import {
  check,
  integer,
  oneOf,
  optionalInteger,
  optionalOneOf,
  optionalText,
  sequence,
  text,
  unique,
} from '../table.ts'
import type { TableDefinition } from '../table.ts'

export const paymentTables = {
  payments: {
    columns: {
      seq: sequence,
      id: unique(text),
      chain_id: integer,
      /** Lower case, like payer and nonce. */
      asset: check(text, '$ = lower($)'),
      payer: check(text, '$ = lower($)'),
      nonce: check(text, '$ = lower($)'),
      pay_to: text,
      amount_micro_usdc: check(integer, '$ > 0'),
      valid_after: integer,
      valid_before: integer,
      signature_sha256: text,
      purpose: text,
      resource: text,
      detail: optionalText,
      settler: oneOf('local', 'facilitator'),
      state: oneOf('reserved', 'submitted', 'settled', 'failed'),
      reason: optionalText,
      /** Stored before the broadcast; null until a facilitator reports it. */
      tx_hash: optionalText,
      block_number: optionalInteger,
      block_hash: optionalText,
      finality: optionalOneOf('latest', 'final', 'undone'),
      reserved_at: text,
      submitted_at: optionalText,
      settled_at: optionalText,
      delivered_at: optionalText,
      final_at: optionalText,
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
