import type { Kysely } from 'kysely'

/** The two engines behind `openDatabase`. */
import type { DatabaseBrokenError } from './errors.ts'
import type { ReadList } from './lists.ts'
import type { Database } from './schema.ts'
import type { Engine } from './statements.ts'
import type { Write, WriteObserver } from './writer.ts'

export interface OpenOptions {
  /** A path, `sqlite:` and a path, or `postgres://…`. */
  readonly url: string
  readonly readOnly?: boolean
  readonly create?: boolean
  /** Checks every page (1 s per 1–2 GB): before the start for small files, otherwise later with `onBroken`. */
  readonly quickCheck?: boolean
  /** Default 32 MiB. */
  readonly checkFirstUpToBytes?: number
  /** Limit for one transaction; the limit for one `write` is twice as long. */
  readonly heldLimitMs?: number
  /** Longest wait for a transaction of another process; default 5 s. */
  readonly lockPatienceMs?: number
  /** Longest time for one list; default 2 s. */
  readonly listDeadlineMs?: number
  readonly onBroken?: (error: DatabaseBrokenError) => void
  /** `others`: leaves checkpoints to Litestream, which must see every frame first. */
  readonly checkpoints?: 'own' | 'others'
  readonly observer?: WriteObserver
}

export interface OpenDatabase {
  /** The writer's connection, for single statements and migrations. Use `write` for everything else. */
  readonly db: Kysely<Database>
  /** For reads of a few rows. */
  readonly reader: Kysely<Database>
  readonly list: ReadList
  readonly write: Write<Database>
  /** For single statements on counts of limits, concurrent with writes; null if no other process can serve this database. */
  readonly shared: Kysely<Database> | null
  /** True if the last write transaction failed. */
  readonly isFailing: () => boolean
  readonly broken: () => DatabaseBrokenError | null
  readonly close: () => Promise<void>
  readonly engine: Engine
  /** As passed to `openDatabase`. */
  readonly url: string
  /** The SQLite file; null for PostgreSQL. */
  readonly path: string | null
}
