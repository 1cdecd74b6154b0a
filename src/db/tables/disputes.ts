import { disputeStandings, disputeStates } from '../../contract/schemas/dispute-state.ts'
import type { DisputeTarget } from '../../contract/schemas/dispute.ts'
import * as column from '../column.ts'
import type { TableDefinition } from '../table.ts'

export const disputeTables = {
  disputes: {
    inOrder: true,
    columns: {
      seq: column.rowNumber,
      id: column.unique(column.text),
      wallet: column.text,
      display: column.text,
      target: column.facts<DisputeTarget>(),
      rail: column.optionalText,
      claim: column.text,
      figure: column.optionalText,
      evidence_url: column.optionalText,
      state: column.oneOf(...disputeStates),
      standing: column.oneOf(...disputeStandings),
      opened_at: column.text,
      updated_at: column.text,
    },
    indexes: {
      disputes_by_wallet: '(wallet, opened_at)',
      disputes_by_rail: '(rail, seq)',
      disputes_by_state: '(state, seq)',
      disputes_by_rail_state: '(rail, state, seq)',
      disputes_by_target: '(target, seq)',
      disputes_to_read: "(seq) where standing = 'unknown'",
    },
    uniqueIndexes: {
      disputes_open: "(wallet, target) where state in ('open', 'answered')",
    },
  },

  dispute_steps: {
    columns: {
      seq: column.sequence,
      id: column.unique(column.text),
      dispute_id: column.references(column.text, 'disputes (id)'),
      /** Canonical JSON as published, whose hash is in the log. */
      content: column.text,
      created_at: column.text,
    },
    appendOnly: 'the steps of disputes are append-only',
    indexes: { dispute_steps_by_dispute: '(dispute_id, seq)' },
  },
} as const satisfies Record<string, TableDefinition>
