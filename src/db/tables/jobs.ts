import type { Generated, GeneratedAlways } from 'kysely'

import type { JobEvent, JobRole, JobStatus } from '../../core/job.ts'

export interface JobsTables {
  jobs: JobsTable
  job_skills: JobSkillsTable
  job_bids: JobBidsTable
  job_deliveries: JobDeliveriesTable
  job_transitions: JobMovesTable
}

export interface JobsTable {
  seq: Generated<number>
  id: string
  /** Wallet `id`. */
  poster: string
  poster_display: string
  title: string
  description: string
  skills: string
  budget_micro_usdc: number
  deadline: string
  /** As last written; `statusAt` gives the status at a time. */
  status: JobStatus
  bids_count: number
  awarded_bid: string | null
  receipt_id: string | null
  created_at: string
  updated_at: string
}

interface JobSkillsTable {
  skill: string
  job_seq: number
}

export type BidStatus = 'open' | 'awarded' | 'rejected' | 'lapsed'

export interface JobBidsTable {
  seq: Generated<number>
  id: string
  job_id: string
  bidder: string
  bidder_display: string
  price_micro_usdc: number
  eta_hours: number
  proposal: string
  status: BidStatus
  created_at: string
  updated_at: string
}

export interface JobDeliveriesTable {
  seq: Generated<number>
  id: string
  job_id: string
  deliverer: string
  uri: string
  content_sha256: string
  note: string | null
  /** Canonical JSON as sent, covered by its own signature. */
  statement: string
  created_at: string
}

export interface JobMovesTable {
  seq: GeneratedAlways<number>
  job_id: string
  event: JobEvent
  role: JobRole
  /** Wallet `id`; null for the clock. */
  actor: string | null
  status_after: JobStatus
  note: string | null
  created_at: string
}
