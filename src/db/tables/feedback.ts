import { oneOf, optionalInteger, optionalText, text, textKey } from '../table.ts'
import type { TableDefinition } from '../table.ts'

export const feedbackTables = {
  feedback: {
    columns: {
      id: textKey,
      /** Keyed hash of network and user agent; the key changes daily. */
      fingerprint: text,
      network: text,
      text_hash: text,
      message: text,
      page: optionalText,
      contact: optionalText,
      rating: optionalInteger,
      created_at: text,
    },
    indexes: {
      feedback_by_fingerprint: '(fingerprint, created_at)',
      feedback_by_network: '(network, created_at)',
      feedback_by_time: '(created_at)',
    },
  },

  skill_proposals: {
    columns: {
      id: textKey,
      slug: text,
      name: text,
      category: text,
      surface: text,
      description: text,
      proposer: optionalText,
      network: text,
      status: oneOf('pending', 'accepted', 'rejected'),
      reason: optionalText,
      created_at: text,
      decided_at: optionalText,
    },
    indexes: {
      skill_proposals_by_status: '(status, created_at)',
      skill_proposals_by_network: '(network, created_at)',
    },
    uniqueIndexes: {
      skill_proposals_accepted: "(slug) where status = 'accepted'",
    },
  },

  applications: {
    columns: {
      id: textKey,
      partner: text,
      rail: text,
      worker_wallet: text,
      /** Hash of the message and fields; the text is not stored. */
      content_sha256: text,
      mode: oneOf('forwarded', 'manual'),
      outcome: oneOf('running', 'accepted', 'refused', 'failed', 'unknown', 'manual'),
      upstream_status: optionalInteger,
      fault: optionalText,
      request_sha256: text,
      message_sha256: text,
      idempotency_key: optionalText,
      submitted_at: text,
      finished_at: optionalText,
    },
    indexes: {
      applications_by_partner: '(partner, submitted_at)',
      applications_by_message: '(partner, message_sha256)',
      applications_by_key: '(partner, idempotency_key) where idempotency_key is not null',
    },
  },
} as const satisfies Record<string, TableDefinition>
