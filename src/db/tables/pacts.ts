import type { EscrowEventKind } from '../../core/pact/sources.ts'

export interface PactsTables {
  escrow_events: EscrowEventsTable
  escrow_pacts: EscrowPactsTable
  escrow_readings: EscrowReadingsTable
}

export interface EscrowEventsTable {
  block: number
  log_index: number
  pact_id: number
  kind: EscrowEventKind
  tx_hash: string
  at: string
  work_hash: string | null
  /** For `ruled`: 1 for the recipient. */
  favor_recipient: number | null
}

interface EscrowPactsTable {
  pact_id: number
  state: string
}

export interface EscrowReadingsTable {
  escrow: string
  to_block: number
  final_block: number
  final_hash: string
  caught_up: number
  revision: number
}
