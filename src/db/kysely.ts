/**
 * The values of Kysely that are used, all loaded through here. Its 262 files are most of what a start loads, and Node
 * takes a third less time for them as CommonJS than as ES modules (Node 20: 76 ms of a core, else 121; Node 24: 67,
 * else 90). Types are imported from the package as ever.
 */
import { createRequire } from 'node:module'

import type * as Package from 'kysely'

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- both forms of the package hold the same
const kysely = createRequire(import.meta.url)('kysely') as typeof Package

export const {
  CompiledQuery,
  IdentifierNode,
  Kysely,
  RawNode,
  SingleConnectionProvider,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  Transaction,
  createQueryId,
  sql,
} = kysely
export type Kysely<Database> = Package.Kysely<Database>
export type Transaction<Database> = Package.Transaction<Database>
