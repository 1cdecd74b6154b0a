import type { EscrowPact } from '../../core/pact/escrow.ts'
import type { EscrowEvent } from '../../core/pact/sources.ts'
import * as column from '../column.ts'
import type { TableDefinition } from '../table.ts'

export const pactTables = {
  escrow_events: {
    columns: {
      block: column.integer,
      log_index: column.integer,
      pact_id: column.integer,
      event: column.facts<EscrowEvent>(),
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
      state: column.facts<EscrowPact>(),
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
