import * as column from '../column.ts'
import type { TableDefinition } from '../table.ts'

export const writeTables = {
  /** First answers of writes, stored once for all messages and the key of a request, and of purchases with an identifier. */
  answers: {
    columns: {
      id: column.text,
      request_sha256: column.text,
      status: column.integer,
      answer: column.text,
      expires_at: column.text,
    },
    constraints: ['primary key (id, expires_at)'],
    partitionedBy: 'expires_at',
    indexes: {
      answers_by_expiry: '(expires_at)',
    },
  },

  used_messages: {
    columns: {
      wallet: column.text,
      message_sha256: column.text,
      answer_id: column.text,
      expires_at: column.text,
    },
    // A message has one expiry, which follows from its signed time.
    constraints: ['primary key (wallet, message_sha256, expires_at)'],
    partitionedBy: 'expires_at',
    indexes: {
      used_messages_by_expiry: '(expires_at)',
    },
  },

  idempotency_keys: {
    columns: {
      caller: column.text,
      key: column.text,
      answer_id: column.text,
      expires_at: column.text,
    },
    // An expired key may be used again before it is deleted.
    constraints: ['primary key (caller, key, expires_at)'],
    partitionedBy: 'expires_at',
    indexes: {
      idempotency_keys_by_expiry: '(expires_at)',
    },
  },

  /** Disputes by hashes of networks. */
  network_disputes: {
    columns: {
      id: column.rowNumber,
      network: column.text,
      created_at: column.text,
    },
    indexes: {
      network_disputes_by_network: '(network, created_at)',
      network_disputes_by_time: '(created_at)',
    },
  },

  /** Skeletons of display names, see `core/look-alike.ts`. */
  names: {
    columns: {
      wallet: column.text,
      kind: column.oneOf('worker', 'claim', 'partner'),
      skeleton: column.text,
      since: column.text,
    },
    constraints: ['primary key (wallet, kind)'],
    withoutRowid: true,
    indexes: {
      names_by_skeleton: '(skeleton, since)',
    },
  },

  /** Units that replicas have drawn from limits. A crash of the database resets the limits. */
  rate_tokens: {
    columns: {
      policy: column.text,
      /** Hash of the caller. */
      key: column.integer,
      value: column.real,
      /** Units granted in the last draw. */
      granted: column.real,
    },
    constraints: ['primary key (policy, key)'],
    withoutRowid: true,
    unlogged: true,
  },

  persisted_counters: {
    columns: {
      name: column.textKey,
      body: column.bytes,
    },
    withoutRowid: true,
  },

  /** Rows are never deleted, since `fence` must not go back. */
  leases: {
    columns: {
      name: column.textKey,
      holder: column.text,
      fence: column.integer,
      /** Unix milliseconds on the clock of the database. */
      until: column.integer,
    },
    withoutRowid: true,
  },

  /** Published sets. The row with the highest version names the current set. */
  publications: {
    columns: {
      version: column.integer,
      fence: column.integer,
      manifest_sha256: column.text,
      /** The keys of manifest and signature start with it. */
      location: column.text,
      facts_sha256: column.text,
      /** 0 if the object store ignores conditions, so that the bucket has no pointer to the set. */
      has_pointer: column.bit,
      published_at: column.text,
    },
    constraints: ['primary key (version)'],
  },

  payments: {
    columns: {
      seq: column.sequence,
      id: column.unique(column.text),
      chain_id: column.integer,
      /** Lower case, like payer and nonce. */
      asset: column.check(column.text, '$ = lower($)'),
      payer: column.check(column.text, '$ = lower($)'),
      nonce: column.check(column.text, '$ = lower($)'),
      pay_to: column.text,
      amount_micro_usdc: column.check(column.integer, '$ > 0'),
      valid_after: column.integer,
      valid_before: column.integer,
      signature_sha256: column.text,
      /** Of x402 `payment-identifier`: names the purchase, whatever authorization pays for it. */
      identifier: column.optionalText,
      purpose: column.oneOf('read', 'subscription'),
      resource: column.text,
      detail: column.optionalObject,
      settler: column.oneOf('local', 'facilitator'),
      state: column.oneOf('reserved', 'submitted', 'settled', 'failed', 'reconcile'),
      reason: column.optionalText,
      /** Stored before the broadcast; null until a facilitator reports it. */
      tx_hash: column.optionalText,
      block_number: column.optionalInteger,
      block_hash: column.optionalText,
      finality: column.optionalOneOf('latest', 'final', 'undone'),
      /** The service that works on the payment, until a time in Unix milliseconds of the database. */
      holder: column.optionalText,
      held_until: column.optionalInteger,
      reserved_at: column.text,
      submitted_at: column.optionalText,
      settled_at: column.optionalText,
      delivered_at: column.optionalText,
      final_at: column.optionalText,
    },
    constraints: [
      "check ((state = 'settled') = (settled_at is not null))",
      "check ((state = 'settled') = (finality is not null))",
      "check (state <> 'settled' or (tx_hash is not null and block_number is not null))",
      "check (delivered_at is null or state = 'settled')",
    ],
    indexes: {
      payments_open: "(state) where state in ('reserved', 'submitted')",
      payments_not_final: "(block_number) where finality = 'latest'",
      payments_undone: "(seq) where finality = 'undone'",
      payments_by_payer: '(payer, seq)',
      payments_by_identifier: '(payer, identifier) where identifier is not null',
      payments_by_state: '(state)',
    },
    uniqueIndexes: {
      payments_once: '(chain_id, asset, payer, nonce)',
    },
  },
} as const satisfies Record<string, TableDefinition>
