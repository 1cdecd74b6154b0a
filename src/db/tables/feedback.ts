import * as column from '../column.ts'
import type { TableDefinition } from '../table.ts'

export const feedbackTables = {
  feedback: {
    columns: {
      id: column.textKey,
      /** Keyed hash of network and user agent; the key changes daily. */
      fingerprint: column.text,
      network: column.text,
      text_hash: column.text,
      message: column.text,
      page: column.optionalText,
      contact: column.optionalText,
      rating: column.optionalInteger,
      created_at: column.text,
    },
    indexes: {
      feedback_by_fingerprint: '(fingerprint, created_at)',
      feedback_by_network: '(network, created_at)',
      feedback_by_time: '(created_at)',
    },
  },

  skill_proposals: {
    columns: {
      id: column.textKey,
      slug: column.text,
      name: column.text,
      category: column.text,
      surface: column.strings,
      description: column.text,
      proposer: column.optionalText,
      network: column.text,
      status: column.oneOf('pending', 'accepted', 'rejected'),
      reason: column.optionalText,
      created_at: column.text,
      decided_at: column.optionalText,
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
      id: column.textKey,
      partner: column.text,
      rail: column.text,
      worker_wallet: column.text,
      /** Hash of the message and fields; the text is not stored. */
      content_sha256: column.text,
      mode: column.oneOf('forwarded', 'manual'),
      outcome: column.oneOf('running', 'accepted', 'refused', 'failed', 'unknown', 'manual'),
      upstream_status: column.optionalInteger,
      fault: column.optionalText,
      request_sha256: column.text,
      message_sha256: column.text,
      idempotency_key: column.optionalText,
      submitted_at: column.text,
      finished_at: column.optionalText,
    },
    indexes: {
      applications_by_partner: '(partner, submitted_at)',
      applications_by_message: '(partner, message_sha256)',
      applications_by_key: '(partner, idempotency_key) where idempotency_key is not null',
    },
  },
} as const satisfies Record<string, TableDefinition>
