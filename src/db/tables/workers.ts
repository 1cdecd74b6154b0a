import {
  integer,
  oneOf,
  optionalInteger,
  optionalText,
  references,
  rowNumber,
  sequence,
  text,
  textKey,
  unique,
} from '../table.ts'
import type { TableDefinition } from '../table.ts'

export const workerTables = {
  workers: {
    columns: {
      seq: rowNumber,
      /** Wallet `id`. */
      wallet: unique(text),
      display: text,
      display_name: optionalText,
      skills: text,
      url: optionalText,
      bio: optionalText,
      receipt_key: optionalText,
      registered_at: text,
      updated_at: text,
    },
    indexes: {
      workers_by_update: '(updated_at)',
    },
  },

  worker_skills: {
    columns: {
      skill: text,
      wallet: references(text, 'workers (wallet)'),
    },
    constraints: ['primary key (skill, wallet)'],
    withoutRowid: true,
    indexes: {
      worker_skills_by_wallet: '(wallet)',
    },
  },

  claims: {
    columns: {
      id: rowNumber,
      wallet: unique(optionalText),
      display_name: text,
      method: oneOf('wallet', 'email'),
      email_hash: unique(optionalText),
      claimed_at: text,
    },
  },

  email_codes: {
    columns: {
      email_hash: textKey,
      code_hash: text,
      display_name: text,
      wallet: optionalText,
      tries: integer,
      expires_at: text,
    },
    withoutRowid: true,
  },

  email_sends: {
    columns: {
      id: rowNumber,
      email_hash: text,
      remote_hash: text,
      sent_at: text,
    },
    indexes: {
      email_sends_by_email: '(email_hash, sent_at)',
      email_sends_by_remote: '(remote_hash, sent_at)',
    },
  },

  oath_history: {
    columns: {
      seq: sequence,
      /** `write`: a partner's write without an oath. */
      kind: oneOf('worker', 'claim', 'partner', 'write'),
      oath_version: optionalInteger,
      wallet: text,
      handle: optionalText,
      action: text,
      message_sha256: text,
      signature_sha256: text,
      body_sha256: text,
      binding: oneOf('path', 'body', 'statement'),
      created_at: text,
    },
    indexes: {
      oath_history_by_wallet: '(wallet, seq)',
      oath_history_by_handle: '(handle, seq) where handle is not null',
    },
    appendOnly: 'the oath history is append-only',
  },
} as const satisfies Record<string, TableDefinition>
