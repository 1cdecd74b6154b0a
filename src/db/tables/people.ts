import { followUps, subscriptionStatuses, tierNames } from '../../core/partner.ts'
import * as column from '../column.ts'
import type { TableDefinition } from '../table.ts'

const tier = column.oneOf(...tierNames)

export const peopleTables = {
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
      /** ERC-8004: `eip155:<chain>:<agent id>`. */
      agent: column.optionalText,
      /** Of the agent in the registry, in lower case; null before the first check. */
      agent_wallet: column.optionalText,
      agent_checked_at: column.optionalText,
      registered_at: column.text,
      updated_at: column.text,
    },
    indexes: {
      workers_by_update: '(updated_at)',
      workers_by_registration: '(registered_at)',
      workers_by_agent: '(agent_checked_at) where agent is not null',
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
      email_hash: column.text,
      code_hash: column.text,
      display_name: column.text,
      wallet: column.optionalText,
      /** 1: the key of `wallet` signed the claim. */
      signed: column.bit,
      /** 1: the code has made its claim; the row answers a repeat. */
      used: column.bit,
      expires_at: column.text,
    },
    constraints: ['primary key (email_hash, code_hash)'],
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

  partners: {
    columns: {
      seq: column.rowNumber,
      handle: column.unique(column.text),
      /** Wallet `id`. */
      wallet: column.unique(column.text),
      display: column.text,
      display_name: column.text,
      email: column.optionalText,
      skills: column.strings,
      website: column.optionalText,
      bio_short: column.optionalText,
      require_body_signature: column.bit,
      tier,
      /** As last written; `subscriptionAt` gives the status at a time. */
      status: column.oneOf(...subscriptionStatuses),
      /** Null for the free tier, and until the first payment. */
      renews_at: column.optionalText,
      /** Price paid per 30 days of the remaining time. */
      rate_micro_usdc: column.withDefault(column.check(column.integer, '$ >= 0'), '0'),
      on_expiry: column.withDefault(column.oneOf(...followUps), "'renewal'"),
      oath_signed_at: column.text,
      /** Wallet `id`; null after an operator released it. */
      attestation_wallet: column.optionalText,
      attestation_url: column.optionalText,
      attestation_signature_sha256: column.optionalText,
      attestation_signed_at: column.optionalText,
      /** Row of the last change in the oath history. The next change compares it. */
      attestation_oath_seq: column.references(column.integer, 'oath_history (seq)'),
      created_at: column.text,
      updated_at: column.text,
    },
    constraints: [
      "check (tier <> 'free' or renews_at is null)",
      'check (renews_at is not null or rate_micro_usdc = 0)',
      "check (tier = 'free' or status not in ('active', 'past_due') or renews_at is not null)",
    ],
    indexes: {
      partners_by_renewal: '(status, renews_at)',
    },
  },

  subscription_changes: {
    columns: {
      seq: column.sequence,
      handle: column.references(column.text, 'partners (handle)'),
      kind: column.oneOf('paid', 'free', 'cancelled', 'granted', 'undone'),
      payment_id: column.references(column.optionalText, 'payments (id)'),
      tier,
      paid_micro_usdc: column.check(column.integer, '$ >= 0'),
      from_at: column.optionalText,
      until_at: column.optionalText,
      answer: column.object,
      created_at: column.text,
    },
    constraints: ["check ((kind in ('paid', 'undone')) = (payment_id is not null))"],
    indexes: {
      subscription_changes_by_handle: '(handle, seq)',
    },
    uniqueIndexes: {
      subscription_payments_once: '(payment_id, kind) where payment_id is not null',
    },
    appendOnly: 'subscription_changes is append-only',
  },

  feedback: {
    columns: {
      id: column.textKey,
      /** Keyed hash of network and user agent; the key changes daily. */
      fingerprint: column.text,
      text_hash: column.text,
      message: column.text,
      page: column.optionalText,
      contact: column.optionalText,
      rating: column.optionalInteger,
      created_at: column.text,
    },
    indexes: {
      feedback_by_fingerprint: '(fingerprint, created_at)',
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

  alert_subscriptions: {
    columns: {
      id: column.textKey,
      wallet: column.text,
      url: column.text,
      /** Null for all rails and the events without a rail. */
      rails: column.optionalStrings,
      severity: column.optionalOneOf('info', 'warning', 'critical'),
      secret_version: column.integer,
      rotated_at: column.optionalText,
      /** `pending` until the endpoint has answered the challenge. */
      status: column.oneOf('pending', 'active', 'disabled'),
      status_reason: column.optionalText,
      /** Events up to this sequence number are not delivered. */
      after_seq: column.integer,
      created_at: column.text,
      disabled_at: column.optionalText,
      /** Failed attempts since the last success. */
      failures: column.integer,
      /** The first of these failures; null after a success. */
      failing_since: column.optionalText,
      last_error: column.optionalText,
      /** Nothing is sent before this time. */
      paused_until: column.optionalText,
    },
    withoutRowid: true,
    indexes: {
      alert_subscriptions_by_wallet: '(wallet, created_at)',
    },
  },

  alert_deliveries: {
    columns: {
      id: column.textKey,
      subscription_id: column.references(column.text, 'alert_subscriptions (id) on delete cascade'),
      event_seq: column.optionalInteger,
      type: column.text,
      /** The signed body, byte for byte. */
      payload: column.text,
      status: column.oneOf('pending', 'delivered', 'dead'),
      attempts: column.integer,
      /** Null after the end, and for events that wait for the proof of the endpoint. */
      next_attempt_at: column.optionalText,
      leased_until: column.optionalText,
      /** Fencing token: increases with every lease, so that results of earlier holders are refused. */
      lease_version: column.integer,
      last_status: column.optionalInteger,
      last_error: column.optionalText,
      created_at: column.text,
      finished_at: column.optionalText,
    },
    indexes: {
      alert_deliveries_due: "(subscription_id, next_attempt_at) where status = 'pending'",
      alert_deliveries_finished: "(finished_at) where status <> 'pending'",
    },
    uniqueIndexes: {
      alert_deliveries_once: '(subscription_id, event_seq) where event_seq is not null',
    },
  },
} as const satisfies Record<string, TableDefinition>
