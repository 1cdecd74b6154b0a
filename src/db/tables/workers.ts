import type { Generated, GeneratedAlways } from 'kysely'

export interface WorkersTables {
  workers: WorkersTable
  worker_skills: WorkerSkillsTable
  claims: ClaimsTable
  email_codes: EmailCodesTable
  email_sends: EmailSendsTable
  oath_history: OathHistoryTable
}

export interface WorkersTable {
  seq: Generated<number>
  /** Wallet `id`. */
  wallet: string
  display: string
  display_name: string | null
  skills: string
  url: string | null
  bio: string | null
  receipt_key: string | null
  registered_at: string
  updated_at: string
}

interface WorkerSkillsTable {
  skill: string
  wallet: string
}

export interface ClaimsTable {
  id: Generated<number>
  wallet: string | null
  display_name: string
  method: 'wallet' | 'email'
  email_hash: string | null
  claimed_at: string
}

export interface EmailCodesTable {
  email_hash: string
  code_hash: string
  display_name: string
  wallet: string | null
  tries: number
  expires_at: string
}

interface EmailSendsTable {
  id: Generated<number>
  email_hash: string
  remote_hash: string
  sent_at: string
}

export interface OathHistoryTable {
  seq: GeneratedAlways<number>
  /** `write`: a partner's write without an oath. */
  kind: 'worker' | 'claim' | 'partner' | 'write'
  oath_version: number | null
  wallet: string
  handle: string | null
  action: string
  message_sha256: string
  signature_sha256: string
  body_sha256: string
  binding: 'path' | 'body' | 'statement'
  created_at: string
}
