export interface FeedbackTables {
  feedback: FeedbackTable
  skill_proposals: SkillProposalsTable
  applications: ApplicationsTable
}

export interface FeedbackTable {
  id: string
  /** Keyed hash of network and user agent; the key changes daily. */
  fingerprint: string
  network: string
  text_hash: string
  message: string
  page: string | null
  contact: string | null
  rating: number | null
  created_at: string
}

export interface SkillProposalsTable {
  id: string
  slug: string
  name: string
  category: string
  surface: string
  description: string
  proposer: string | null
  network: string
  status: 'pending' | 'accepted' | 'rejected'
  reason: string | null
  created_at: string
  decided_at: string | null
}

export interface ApplicationsTable {
  id: string
  partner: string
  rail: string
  worker_wallet: string
  /** Hash of the message and fields; the text is not stored. */
  content_sha256: string
  mode: 'forwarded' | 'manual'
  outcome: 'running' | 'accepted' | 'refused' | 'failed' | 'unknown' | 'manual'
  upstream_status: number | null
  fault: string | null
  request_sha256: string
  message_sha256: string
  idempotency_key: string | null
  submitted_at: string
  finished_at: string | null
}
