/** Snapshots of the database: all rows of all tables, on a connection outside of the simulated processes. */
import type { Selectable } from 'kysely'
import { z } from 'zod'

import type { Database as Tables } from '../../../src/db/schema.ts'
import driver, { mount, plainMachine } from '../sqlite-driver.ts'
import type { Database } from '../sqlite-driver.ts'

type TableName = keyof Tables
export type RowOf<Name extends TableName> = Selectable<Tables[Name]>

/** Tables that did not change are shared between snapshots. */
export type Snapshot = { readonly [Name in TableName]: readonly RowOf<Name>[] }

export type Fields = Readonly<Record<string, unknown>>

export interface Change {
  readonly table: string
  readonly before: Fields | null
  readonly after: Fields | null
}

export type Query = (sql: string) => Promise<readonly Fields[]>

/** Opens a file outside of the simulated processes. */
export async function openProbe(path: string) {
  mount(plainMachine)
  const database = await new Promise<Database>((resolve, reject) => {
    const opened: Database = new driver.Database(path, driver.OPEN_READWRITE, (error) =>
      error === null ? resolve(opened) : reject(error),
    )
  })
  mount(null)
  return {
    query: (sql: string) => database.reallyAll(sql),
    close: () =>
      new Promise<void>((resolve, reject) => {
        database.close((error) => (error === null ? resolve() : reject(error)))
      }),
  }
}

interface SnapshotReader {
  readonly read: (query: Query) => Promise<Snapshot>
  /** Rows that were inserted, updated or deleted between two snapshots. */
  readonly changes: (before: Snapshot, after: Snapshot) => readonly Change[]
}

/** Requests counted for rate limits are not facts of the ledger. */
const columnsSql = `select t.name as "table", c.name as "column", c.pk as pk
  from sqlite_master as t, pragma_table_info(t.name) as c
  where t.type = 'table' and t.name not like 'sqlite_%' and t.name <> 'persisted_counters'`

const columnRows = z.array(z.object({ table: z.string(), column: z.string(), pk: z.number() }))
const rowList = z.array(z.record(z.string(), z.unknown()))

/** Derives the query for a snapshot from the schema of the file. */
export async function createSnapshotReader(query: Query): Promise<SnapshotReader> {
  const columns = columnRows.parse(await query(columnsSql))
  const names = new Set(columns.map(({ table }) => table))
  const tables = [...names].map((table) => {
    const own = columns.filter((column) => column.table === table)
    const pairs = own.map(({ column }) => `'${column}', "${column}"`).join(', ')
    return `(select json_group_array(json_object(${pairs})) from "${table}") as "${table}"`
  })
  const sql = `select ${tables.join(',\n')}`
  const parsed = new Map<string, { readonly json: unknown; readonly rows: readonly Fields[] }>()

  return {
    read: async (ask) => {
      const [found = {}] = await ask(sql)
      const entries = Object.entries(found).map(([table, json]) => {
        const known = parsed.get(table)
        if (known !== undefined && known.json === json) return [table, known.rows]
        const rows = rowList.parse(JSON.parse(String(json)))
        parsed.set(table, { json, rows })
        return [table, rows]
      })
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- read from the tables of these names.
      return Object.fromEntries(entries) as Snapshot
    },
    changes: (before, after) =>
      Object.entries(after).flatMap(([table, rows]: [string, readonly Fields[]]) => {
        const earlier: readonly Fields[] = new Map(Object.entries(before)).get(table) ?? []
        if (earlier === rows) return []
        const keys = columns.filter((column) => column.table === table && column.pk > 0)
        const keyed = (list: readonly Fields[]) =>
          new Map(list.map((row) => [keys.map(({ column }) => row[column]).join('\n'), row]))
        const [old, now] = [keyed(earlier), keyed(rows)]
        return [...new Set([...old.keys(), ...now.keys()])]
          .map((key) => ({ table, before: old.get(key) ?? null, after: now.get(key) ?? null }))
          .filter((change) => JSON.stringify(change.before) !== JSON.stringify(change.after))
      }),
  }
}
