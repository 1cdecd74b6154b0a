/** Times are RFC 3339 UTC text with milliseconds, money is integer micro-USDC, JSON is text. */
import type { Kysely, Transaction } from 'kysely'

import { foreignKeyStatements, postgresStatements, sqliteStatements } from './table.ts'
import type { RowOf, TableDefinition } from './table.ts'
import { jobTables } from './tables/jobs.ts'
import { peopleTables } from './tables/people.ts'
import { railTables } from './tables/rails.ts'
import { receiptTables } from './tables/receipts.ts'
import { writeTables } from './tables/writes.ts'

export const tables = {
  ...railTables,
  ...writeTables,
  ...peopleTables,
  ...receiptTables,
  ...jobTables,
}

export type Database = { [Name in keyof typeof tables]: RowOf<(typeof tables)[Name], 'value'> }

export type Members = { [Name in keyof typeof tables]: RowOf<(typeof tables)[Name], 'member'> }

/** The database, or a transaction on it. */
export type Db = Kysely<Database>

export type DbTransaction = Transaction<Database>

const definitions: readonly (readonly [string, TableDefinition])[] = Object.entries(tables)

export const schemaStatements = {
  sqlite: definitions.flatMap(([name, definition]) => sqliteStatements(name, definition)),
  postgres: [
    ...definitions.flatMap(([name, definition]) => postgresStatements(name, definition)),
    ...definitions.flatMap(([name, definition]) => foreignKeyStatements(name, definition)),
  ],
} as const satisfies Record<string, readonly string[]>
