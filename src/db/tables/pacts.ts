import { escrowEventKinds } from '../../core/pact/sources.ts'
import * as column from '../column.ts'
import type { TableDefinition } from '../table.ts'

export const pactTables = {
  escrow_events: {
    columns: {
      block: column.integer,
      log_index: column.integer,
      pact_id: column.integer,
      kind: column.oneOf(...escrowEventKinds),
      tx_hash: column.text,
      at: column.text,
      work_hash: column.optionalText,
      /** For `ruled`: 1 for the recipient. */
      favor_recipient: column.optionalInteger,
    },
    constraints: ['primary key (block, log_index)'],
    withoutRowid: true,
    indexes: {
      escrow_events_by_pact: '(pact_id, block, log_index)',
    },
  },

  escrow_pacts: {
    columns: {
      pact_id: column.rowNumber,
      state: column.text,
    },
  },

  // One row. Final blocks are never read again; every reading starts above them.
  escrow_readings: {
    columns: {
      escrow: column.textKey,
      to_block: column.integer,
      final_block: column.integer,
      final_hash: column.text,
      caught_up: column.bit,
      revision: column.integer,
    },
  },
} as const satisfies Record<string, TableDefinition>
