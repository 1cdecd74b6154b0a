import * as column from '../column.ts'
import type { TableDefinition } from '../table.ts'

export const writeTables = {
  /** First answers of writes. Each is stored once for all messages and the key of its request. */
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

  network_writes: {
    columns: {
      id: column.rowNumber,
      kind: column.oneOf('registration', 'key', 'receipt', 'transaction', 'dispute'),
      network: column.text,
      created_at: column.text,
    },
    indexes: {
      network_writes_by_network: '(network, kind, created_at)',
      network_writes_by_time: '(created_at)',
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
} as const satisfies Record<string, TableDefinition>
