import { bytes, integer, oneOf, rowNumber, text, textKey } from '../table.ts'
import type { TableDefinition } from '../table.ts'

export const writeTables = {
  used_messages: {
    columns: {
      wallet: text,
      message_sha256: text,
      request_sha256: text,
      status: integer,
      answer: text,
      expires_at: text,
    },
    constraints: ['primary key (wallet, message_sha256)'],
    indexes: {
      used_messages_by_expiry: '(expires_at)',
    },
  },

  idempotency_keys: {
    columns: {
      caller: text,
      key: text,
      request_sha256: text,
      status: integer,
      answer: text,
      expires_at: text,
    },
    constraints: ['primary key (caller, key)'],
    indexes: {
      idempotency_keys_by_expiry: '(expires_at)',
    },
  },

  network_writes: {
    columns: {
      id: rowNumber,
      kind: oneOf('registration', 'receipt'),
      network: text,
      created_at: text,
    },
    indexes: {
      network_writes_by_network: '(network, kind, created_at)',
      network_writes_by_time: '(created_at)',
    },
  },

  /** Skeletons of display names, see `core/look-alike.ts`. */
  names: {
    columns: {
      wallet: text,
      kind: oneOf('worker', 'claim', 'partner'),
      skeleton: text,
      since: text,
    },
    constraints: ['primary key (wallet, kind)'],
    withoutRowid: true,
    indexes: {
      names_by_skeleton: '(skeleton, since)',
    },
  },

  persisted_counters: {
    columns: {
      name: textKey,
      body: bytes,
    },
    withoutRowid: true,
  },
} as const satisfies Record<string, TableDefinition>
