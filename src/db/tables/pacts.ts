import {
  bit,
  integer,
  oneOf,
  optionalInteger,
  optionalText,
  rowNumber,
  text,
  textKey,
} from '../table.ts'
import type { TableDefinition } from '../table.ts'

export const pactTables = {
  escrow_events: {
    columns: {
      block: integer,
      log_index: integer,
      pact_id: integer,
      kind: oneOf(
        'created',
        'submitted',
        'approved',
        'released',
        'refunded',
        'disputed',
        'ruled',
        'finalized',
      ),
      tx_hash: text,
      at: text,
      work_hash: optionalText,
      /** For `ruled`: 1 for the recipient. */
      favor_recipient: optionalInteger,
    },
    constraints: ['primary key (block, log_index)'],
    withoutRowid: true,
    indexes: {
      escrow_events_by_pact: '(pact_id, block, log_index)',
    },
  },

  escrow_pacts: {
    columns: {
      pact_id: rowNumber,
      state: text,
    },
  },

  // One row. Final blocks are never read again; every reading starts above them.
  escrow_readings: {
    columns: {
      escrow: textKey,
      to_block: integer,
      final_block: integer,
      final_hash: text,
      caught_up: bit,
      revision: integer,
    },
  },
} as const satisfies Record<string, TableDefinition>
