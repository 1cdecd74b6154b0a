import * as column from '../column.ts'
import type { TableDefinition } from '../table.ts'

export const leaseTables = {
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
} as const satisfies Record<string, TableDefinition>
