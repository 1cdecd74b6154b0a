/** Every change of the database in the order of commits, recorded by triggers, as the states between two writes. */
import pg from 'pg'
import { z } from 'zod'

import type { Fields, Query } from '../simulation/verdict/snapshot.ts'

/** Rows that are no facts of the ledger: limits, leases and counted views. */
const unrecorded = ['rate_tokens', 'persisted_counters', 'leases', 'publications', 'article_views']

const setUpSql = `
  create schema audit;
  create table audit.changes (
    seq bigint generated always as identity primary key, name text not null, before text, after text);
  create function audit.record() returns trigger language plpgsql security definer as $$ begin
    insert into audit.changes (name, before, after) values (tg_argv[0],
      case when tg_op = 'INSERT' then null else row_to_json(old)::text end,
      case when tg_op = 'DELETE' then null else row_to_json(new)::text end);
    return null;
  end $$;`

const columnsSql = `
  select c.table_name as "table", c.column_name as "column", case when exists (
    select 1 from information_schema.key_column_usage k
    join information_schema.table_constraints t using (constraint_name, table_schema)
    where t.constraint_type = 'PRIMARY KEY' and t.table_schema = 'public'
      and k.table_name = c.table_name and k.column_name = c.column_name) then 1 else 0 end as pk
  from information_schema.columns c
  where c.table_schema = 'public' and not exists (
    select 1 from pg_class p where p.relname = c.table_name and p.relispartition)
  order by c.table_name, c.ordinal_position`

/** A savepoint has its own number, which distinguishes the writes of one transaction. */
const takeSql = `
  with taken as (delete from audit.changes returning seq, xmin::text as write, name, before, after)
  select * from taken order by seq`

const columnRows = z.array(z.object({ table: z.string(), column: z.string(), pk: z.number() }))
const fields = z.record(z.string(), z.unknown())
const taken = z.array(
  z.object({
    write: z.string(),
    name: z.string(),
    before: z.string().nullable(),
    after: z.string().nullable(),
  }),
)
export type Taken = z.infer<typeof taken>[number]

export async function openCommitLog(url: string) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const columns = columnRows
    .parse((await client.query(columnsSql)).rows)
    .filter(({ table }) => !unrecorded.includes(table))
  const tables = [...new Set(columns.map(({ table }) => table))]
  await client.query(setUpSql)
  for (const table of tables) {
    await client.query(
      `create trigger zz_audit after insert or update or delete on "${table}"
       for each row execute function audit.record('${table}')`,
    )
  }
  const keysOf = new Map(
    tables.map((table) => [
      table,
      columns.filter((one) => one.table === table && one.pk > 0).map(({ column }) => column),
    ]),
  )
  const rows = new Map(tables.map((table) => [table, new Map<string, Fields>()]))
  const texts = new Map<string, string>()

  for (const [table, known] of rows) {
    for (const row of await storedRows(table)) known.set(keyOf(table, row), row)
  }

  async function storedRows(table: string): Promise<readonly Fields[]> {
    const sql = `select row_to_json(t)::text as row from "${table}" t`
    const { rows: stored } = await client.query<{ row: string }>(sql)
    return stored.map(({ row }) => fields.parse(JSON.parse(row)))
  }

  function keyOf(table: string, row: Fields): string {
    return (keysOf.get(table) ?? []).map((column) => String(row[column])).join('\n')
  }

  function apply({ name, before, after }: Taken): void {
    const table = rows.get(name)
    const [old, now] = [before, after].map((text) =>
      text === null ? null : fields.parse(JSON.parse(text)),
    )
    texts.delete(name)
    if (old && (!now || keyOf(name, old) !== keyOf(name, now))) table?.delete(keyOf(name, old))
    if (now) table?.set(keyOf(name, now), now)
  }

  function inOrder(table: string): readonly Fields[] {
    const list = [...(rows.get(table)?.values() ?? [])]
    return list[0] !== undefined && typeof list[0]['seq'] === 'number'
      ? list.toSorted((a, b) => Number(a['seq']) - Number(b['seq']))
      : list
  }

  function textOf(table: string): string {
    const text = texts.get(table) ?? JSON.stringify(inOrder(table))
    texts.set(table, text)
    return text
  }

  /** Answers the two queries of the reader of snapshots from the recorded state. */
  const query: Query = (sql) =>
    Promise.resolve(
      sql.includes('sqlite_master')
        ? columns
        : [Object.fromEntries(tables.map((table) => [table, textOf(table)]))],
    )

  type OnWrite = (changes: readonly Taken[]) => Promise<void>

  async function take(onWrite: OnWrite): Promise<void> {
    const writes = new Map<string, Taken[]>()
    for (const one of taken.parse((await client.query(takeSql)).rows)) {
      writes.set(one.write, [...(writes.get(one.write) ?? []), one])
    }
    for (const changes of writes.values()) {
      for (const change of changes) apply(change)
      await onWrite(changes)
    }
  }

  return {
    query,
    tables,
    columnsOf: (table: string) => columns.filter((one) => one.table === table),
    inOrder,
    /** Calls `onWrite` after every write that has committed since the last call, with its changed rows. */
    take,
    /** Takes the writes, and returns the tables whose rows at the same moment differ from the recorded ones. */
    differences: async (onWrite: OnWrite): Promise<readonly string[]> => {
      // Builders keep working, so both must be read in one snapshot.
      await client.query('begin isolation level repeatable read')
      await take(onWrite)
      const different: string[] = []
      for (const table of tables) {
        const [stored, known] = [await storedRows(table), inOrder(table)].map((list) =>
          list.map((row) => JSON.stringify(row)).toSorted(),
        )
        if (JSON.stringify(stored) !== JSON.stringify(known)) different.push(table)
      }
      await client.query('commit')
      return different
    },
    close: () => client.end(),
  }
}
