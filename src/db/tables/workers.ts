import * as column from '../column.ts'
import type { TableDefinition } from '../table.ts'

export const workerTables = {
  workers: {
    columns: {
      seq: column.rowNumber,
      /** Wallet `id`. */
      wallet: column.unique(column.text),
      display: column.text,
      display_name: column.optionalText,
      skills: column.strings,
      url: column.optionalText,
      bio: column.optionalText,
      receipt_key: column.optionalText,
      registered_at: column.text,
      updated_at: column.text,
    },
    indexes: {
      workers_by_update: '(updated_at)',
      workers_by_registration: '(registered_at)',
    },
  },

  worker_skills: {
    columns: {
      skill: column.text,
      worker_seq: column.references(column.integer, 'workers (seq)'),
    },
    constraints: ['primary key (skill, worker_seq)'],
    withoutRowid: true,
    indexes: {
      worker_skills_by_worker: '(worker_seq)',
    },
  },

  claims: {
    columns: {
      id: column.rowNumber,
      wallet: column.unique(column.optionalText),
      display_name: column.text,
      method: column.oneOf('wallet', 'email'),
      email_hash: column.unique(column.optionalText),
      claimed_at: column.text,
    },
  },

  email_codes: {
    columns: {
      email_hash: column.textKey,
      code_hash: column.text,
      display_name: column.text,
      wallet: column.optionalText,
      /** 1: the key of `wallet` signed the claim. */
      signed: column.bit,
      /** 1: the code has made its claim; the row answers a repeat. */
      used: column.bit,
      tries: column.integer,
      expires_at: column.text,
    },
    withoutRowid: true,
  },

  email_sends: {
    columns: {
      id: column.rowNumber,
      email_hash: column.text,
      remote_hash: column.text,
      range_hash: column.optionalText,
      sent_at: column.text,
    },
    indexes: {
      email_sends_by_time: '(sent_at)',
      email_sends_by_range: '(range_hash, sent_at) where range_hash is not null',
      email_sends_by_email: '(email_hash, sent_at)',
      email_sends_by_remote: '(remote_hash, sent_at)',
    },
  },

  oath_history: {
    columns: {
      seq: column.sequence,
      /** `write`: a partner's write without an oath. */
      kind: column.oneOf('worker', 'claim', 'partner', 'write'),
      oath_version: column.optionalInteger,
      wallet: column.text,
      handle: column.optionalText,
      action: column.text,
      message_sha256: column.text,
      signature_sha256: column.text,
      body_sha256: column.text,
      binding: column.oneOf('path', 'body', 'statement'),
      created_at: column.text,
    },
    indexes: {
      oath_history_by_wallet: '(wallet, seq)',
      oath_history_by_handle: '(handle, seq) where handle is not null',
    },
    appendOnly: 'the oath history is append-only',
  },
} as const satisfies Record<string, TableDefinition>
