import { logEntryKind } from '../../core/tlog/entry.ts'
import * as column from '../column.ts'
import type { TableDefinition } from '../table.ts'

export const logTables = {
  /** Entries without an index yet. Written in the transaction of the effect, and deleted once in `log_entries`. */
  log_queue: {
    columns: {
      seq: column.sequence,
      kind: column.oneOf(...logEntryKind.options),
      entry_id: column.text,
      sha256: column.text,
      subject: column.optionalText,
      /** Further members of the entry. */
      extra: column.optionalObject,
    },
  },

  log_entries: {
    columns: {
      position: column.integerKey,
      kind: column.oneOf(...logEntryKind.options),
      entry_id: column.text,
      subject: column.optionalText,
      /** Canonical JSON, which is the leaf. */
      entry: column.text,
    },
    appendOnly: 'log_entries is append-only',
    indexes: {
      log_entries_by_subject: '(kind, subject, position) where subject is not null',
    },
    uniqueIndexes: {
      log_entries_by_id: '(kind, entry_id)',
    },
  },

  log_tiles: {
    columns: {
      level: column.integer,
      at: column.integer,
      hashes: column.bytes,
    },
    constraints: ['primary key (level, at)'],
  },

  /**
   * The newest checkpoint as `signed`, as `published` after its tiles have been published, as `witnessed` the newest one
   * that a quorum has cosigned, and as `accepted` the one that the operator lets the log continue from.
   */
  log_checkpoints: {
    columns: {
      name: column.oneOf('signed', 'published', 'witnessed', 'accepted'),
      size: column.integer,
      /** The signed note, with the cosignatures of witnesses. */
      note: column.text,
    },
    constraints: ['primary key (name)'],
    withoutRowid: true,
  },
} as const satisfies Record<string, TableDefinition>
