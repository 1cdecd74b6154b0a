/** The baselines of both engines describe the same ledger. Rows are tried, since each engine rewrites the text of a check. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { CompiledQuery, sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { typeOfColumn } from '../../../src/db/column.ts'
import { openDatabase } from '../../../src/db/open.ts'
import type { OpenDatabase } from '../../../src/db/open.ts'
import { tables } from '../../../src/db/schema.ts'
import { engineOf, postgresTypes } from '../../../src/db/statements.ts'
import type { Engine } from '../../../src/db/statements.ts'
import type { TableDefinition } from '../../../src/db/table.ts'
import { newPostgresDatabase, onPostgres } from '../../support/new-database.ts'
import { startPostgres } from '../../support/postgres.ts'
import type { PostgresServer } from '../../support/postgres.ts'

type Value = string | number | Buffer | null
type Row = Readonly<Record<string, Value>>
type Catalogue = Readonly<Record<string, readonly string[]>>

const definitions: readonly (readonly [string, TableDefinition])[] = Object.entries(tables)
const folder = mkdtempSync(join(tmpdir(), 'ledger-catalogues-'))
let server: PostgresServer | null = null
let engines: Readonly<Record<Engine, OpenDatabase>>

beforeAll(async () => {
  if (!onPostgres) server = await startPostgres()
  engines = {
    sqlite: await openDatabase({ url: join(folder, 'ledger.db') }),
    postgres: await openDatabase({ url: await newPostgresDatabase(server?.url) }),
  }
})

afterAll(async () => {
  await engines.sqlite.close()
  await engines.postgres.close()
  await server?.stop()
  rmSync(folder, { recursive: true })
})

/** One text per fact. */
const facts = {
  sqlite: {
    tables: `select name from sqlite_schema where type = 'table' and name not like 'sqlite_%'`,
    columns: `select t.name || '.' || c.name || ' ' || lower(c.type) || case when c."notnull" or c.pk then ' not null' else '' end
        || coalesce(' default ' || c.dflt_value, '')
      from sqlite_schema as t, pragma_table_info(t.name) as c where t.type = 'table' and t.name not like 'sqlite_%'`,
    keys: `select t.name || case i.origin when 'pk' then ' primary' else ' unique' end || ' ' ||
        (select group_concat(name, ', ') from (select name from pragma_index_info(i.name) order by seqno))
      from sqlite_schema as t, pragma_index_list(t.name) as i where t.type = 'table' and i.origin in ('pk', 'u')
      union all
      select t.name || ' primary ' || c.name from sqlite_schema as t, pragma_table_info(t.name) as c
      where t.type = 'table' and t.name not like 'sqlite_%' and c.pk = 1 and lower(c.type) = 'integer'
        and not exists (select 1 from pragma_index_list(t.name) where origin = 'pk')`,
    indexes: `select sql from sqlite_schema where type = 'index' and sql is not null`,
    'foreign keys': `select t.name || '.' || k."from" || ' ' || k."table" || '.' || k."to" || ' ' || lower(k.on_delete)
      from sqlite_schema as t, pragma_foreign_key_list(t.name) as k where t.type = 'table'`,
  },
  postgres: {
    tables: `select c.relname as name from pg_class as c
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition`,
    columns: `select t.relname || '.' || c.attname || ' ' || format_type(c.atttypid, null)
        || case when c.attnotnull then ' not null' else '' end || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
      from pg_class as t join pg_attribute as c on c.attrelid = t.oid and c.attnum > 0
        left join pg_attrdef as d on d.adrelid = t.oid and d.adnum = c.attnum
      where t.relnamespace = 'public'::regnamespace and t.relkind in ('r', 'p') and not t.relispartition`,
    keys: `select t.relname || case k.contype when 'p' then ' primary' else ' unique' end || ' ' ||
        (select string_agg(c.attname, ', ' order by at) from unnest(k.conkey) with ordinality as part (number, at)
          join pg_attribute as c on c.attrelid = t.oid and c.attnum = part.number)
      from pg_constraint as k join pg_class as t on t.oid = k.conrelid
      where t.relnamespace = 'public'::regnamespace and k.contype in ('p', 'u') and not t.relispartition`,
    indexes: `select pg_get_indexdef(i.indexrelid) from pg_index as i join pg_class as t on t.oid = i.indrelid
      where t.relnamespace = 'public'::regnamespace
        and not exists (select 1 from pg_constraint where conindid = i.indexrelid)`,
    'foreign keys': `select t.relname || '.' || c.attname || ' ' || f.relname || '.' || fc.attname || ' ' ||
        case k.confdeltype when 'a' then 'no action' when 'c' then 'cascade' else k.confdeltype::text end
      from pg_constraint as k join pg_class as t on t.oid = k.conrelid join pg_class as f on f.oid = k.confrelid
        join pg_attribute as c on c.attrelid = t.oid and c.attnum = k.conkey[1]
        join pg_attribute as fc on fc.attrelid = f.oid and fc.attnum = k.confkey[1]
      where k.contype = 'f' and t.relnamespace = 'public'::regnamespace`,
  },
} as const satisfies Record<Engine, Record<string, string>>

/** Converts a fact of either engine to the terms of PostgreSQL, without its additions to expressions. */
function normalised(kind: string, engine: Engine, fact: string): string {
  if (kind === 'columns') {
    const [name = '', type = '', ...rest] = fact.split(' ')
    const inPostgres = new Map<string, string>(Object.entries(postgresTypes)).get(type)
    return [
      name,
      ...(engine === 'sqlite' ? [inPostgres ?? type] : [type, ...rest].join(' ').split(' ')),
      ...(engine === 'sqlite' ? rest : []),
    ]
      .join(' ')
      .replace(/::\w+$/, '')
  }
  if (kind !== 'indexes') return fact
  return (
    fact
      .toLowerCase()
      .replaceAll('public.', '')
      // Other partitions have no index besides their key.
      .replace(/ on (\w+)_default /, ' on $1 ')
      .replaceAll('using btree ', '')
      .replace(/::text\[\]|::text|::bigint/g, '')
      .replace(/= any \(+array\[(.*?)\]\)+/g, 'in ($1)')
      .replace(/[()"\s]+/g, ' ')
      .replace(/ ,/g, ',')
      .trim()
  )
}

async function catalogue(engine: Engine): Promise<Catalogue> {
  const found: Record<string, readonly string[]> = {}
  for (const [kind, query] of Object.entries(facts[engine])) {
    const { rows } = await sql.raw<Record<string, string>>(query).execute(engines[engine].db)
    found[kind] = rows
      .flatMap((row) => Object.values(row))
      .filter((fact) => !fact.startsWith('schema_migrations'))
      .map((fact) => normalised(kind, engine, fact))
      .toSorted()
  }
  return found
}

class Undone extends Error {}

/** Null if the statements are accepted, otherwise the number of the refused one. All are undone. */
async function refusedAt(
  engine: Engine,
  statements: readonly CompiledQuery[],
): Promise<number | null> {
  let at = 0
  try {
    await engines[engine].db.transaction().execute(async (tx) => {
      for (; at < statements.length; at += 1) {
        const statement = statements[at]
        if (statement !== undefined) await tx.executeQuery(statement)
      }
      throw new Undone()
    })
  } catch (error) {
    return error instanceof Undone ? null : at
  }
  return null
}

function insertOf(engine: Engine, table: string, row: Row): CompiledQuery {
  const columns = Object.keys(row)
  const places = columns.map((_, at) => (engine === 'sqlite' ? '?' : `$${at + 1}`))
  return CompiledQuery.raw(
    `insert into ${table} (${columns.join(', ')}) values (${places.join(', ')})`,
    Object.values(row),
  )
}

/** The same answer of both engines to rows that are inserted one after another. */
async function isAccepted(table: string, ...rows: readonly Row[]): Promise<boolean> {
  const refused = await Promise.all(
    (['sqlite', 'postgres'] as const).map((engine) =>
      refusedAt(
        engine,
        rows.map((row) => insertOf(engine, table, row)),
      ),
    ),
  )
  expect(refused[0], `${table} in SQLite and PostgreSQL: ${JSON.stringify(rows)}`).toBe(refused[1])
  return refused[0] === null
}

const literals = (text: string) =>
  [...text.matchAll(/'([^']*)'/g)].map(([, literal = '']) => literal)
const ordinary = { text: ['x'], integer: [1], real: [1], blob: [Buffer.from('x')] } as const

/** Values by column, without the numbers that the engines assign. */
function valuesOf(
  { columns }: TableDefinition,
  isOdd: boolean,
): ReadonlyMap<string, readonly Value[]> {
  return new Map(
    Object.entries(columns).flatMap(([name, column]) => {
      if (column.sql.startsWith('integer primary key')) return []
      const type = typeOfColumn(column)
      const named = type === 'text' && column.sql.includes(' in (') ? literals(column.sql) : []
      const values: Value[] = [...(named.length > 0 ? named : ordinary[type])]
      if (!/not null|primary key/.test(column.sql)) values.push(null)
      if (isOdd)
        values.push(null, ...(type === 'text' ? ['', 'X'] : type === 'integer' ? [0, 2, -1] : []))
      return [[name, values]]
    }),
  )
}

function rowFrom(values: ReadonlyMap<string, readonly Value[]>, random: () => number): Row {
  return Object.fromEntries(
    [...values].map(([name, some]) => [name, some[Math.floor(random() * some.length)] ?? null]),
  )
}

function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

async function validRow(name: string, definition: TableDefinition): Promise<Row> {
  const random = randomFrom(1)
  for (let tries = 0; tries < 500; tries += 1) {
    const row = rowFrom(valuesOf(definition, false), random)
    if ((await refusedAt('sqlite', [insertOf('sqlite', name, row)])) === null) return row
  }
  throw new Error(`no row of ${name} was accepted`)
}

describe('the two baselines', () => {
  test('SQLite and PostgreSQL have the same tables, columns, keys, indexes and references', async () => {
    const [inSqlite, inPostgres] = [await catalogue('sqlite'), await catalogue('postgres')]
    for (const kind of Object.keys(facts.sqlite)) {
      expect(inPostgres[kind], kind).toEqual(inSqlite[kind])
    }
    expect(inSqlite['tables']).toEqual(Object.keys(tables).toSorted())
  })

  test('PostgreSQL compares texts by their bytes', async () => {
    const { rows } = await sql`select attrelid::regclass::text, attname from pg_attribute
      join pg_class as t on t.oid = attrelid join pg_collation as c on c.oid = attcollation
      where t.relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and collname <> 'C'
        and relname <> 'schema_migrations'`.execute(engines.postgres.db)
    expect(rows).toEqual([])
  })

  describe('without references', () => {
    beforeAll(async () => {
      await sql`pragma foreign_keys = off`.execute(engines.sqlite.db)
      const { rows } = await sql<{ drop: string }>`
        select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop
        from pg_constraint where contype = 'f'`.execute(engines.postgres.db)
      for (const { drop } of rows) await sql.raw(drop).execute(engines.postgres.db)
    })

    test.each(definitions)('both engines accept the same rows of %s', async (name, definition) => {
      const row = await validRow(name, definition)
      expect(await isAccepted(name, row)).toBe(true)
      const checks = (definition.constraints ?? []).filter((text) => text.startsWith('check'))
      const odd = valuesOf(definition, true)
      for (const [column, { sql: text }] of Object.entries(definition.columns)) {
        if (!text.includes('check')) continue
        const answers: boolean[] = []
        for (const value of odd.get(column) ?? []) {
          answers.push(await isAccepted(name, { ...row, [column]: value }))
        }
        expect(answers, `${name}.${column}`).toContain(false)
      }
      if (checks.length === 0) return
      const random = randomFrom(2)
      const answers = new Set<boolean>()
      for (let tries = 0; tries < 60; tries += 1) {
        answers.add(await isAccepted(name, rowFrom(valuesOf(definition, false), random)))
      }
      expect(answers.size, name).toBe(2)
    })

    test('SQLite and PostgreSQL refuse the same changes of rows', async () => {
      const appendOnly: string[] = []
      for (const [name, definition] of definitions) {
        const row = await validRow(name, definition)
        const [column] = Object.keys(row)
        for (const change of [`update ${name} set ${column} = ${column}`, `delete from ${name}`]) {
          const refused = await Promise.all(
            (['sqlite', 'postgres'] as const).map((engine) =>
              refusedAt(engine, [insertOf(engine, name, row), CompiledQuery.raw(change)]),
            ),
          )
          const isKept = definition.appendOnly !== undefined
          expect(refused, change).toEqual(isKept ? [1, 1] : [null, null])
          if (isKept) appendOnly.push(change)
        }
      }
      expect(appendOnly.length).toBeGreaterThan(4)
    })

    test('SQLite and PostgreSQL let a receipt earn once, and be reversed once', async () => {
      const definition = tables.reputation_ledger
      const row = await validRow('reputation_ledger', definition)
      const of = (kind: string): Row => ({ ...row, receipt_id: 'one', kind })
      const [earned, reversed, flag] = [of('receipt_verified'), of('receipt_reversed'), of('flag')]
      const accepted: readonly (readonly Row[])[] = [
        [earned, reversed, earned],
        [flag, flag, earned, flag, reversed],
        [earned, { ...earned, receipt_id: 'other' }, { ...earned, receipt_id: null }],
      ]
      const refused: readonly (readonly Row[])[] = [
        [reversed],
        [earned, earned],
        [earned, reversed, reversed],
      ]
      for (const rows of accepted) expect(await isAccepted('reputation_ledger', ...rows)).toBe(true)
      for (const rows of refused) expect(await isAccepted('reputation_ledger', ...rows)).toBe(false)
    })

    test('SQLite and PostgreSQL assign the numbers of rows', async () => {
      for (const [name, definition] of definitions) {
        const number = Object.entries(definition.columns).find(([, { sql: text }]) =>
          text.startsWith('integer primary key'),
        )?.[0]
        if (number === undefined) continue
        const row = await validRow(name, definition)
        for (const { db } of Object.values(engines)) {
          const assigned = await db
            .transaction()
            .execute(async (tx) => {
              await tx.executeQuery(insertOf(engineOf(tx), name, row))
              const { rows } = await sql
                .raw<{ n: number }>(`select ${number} as n from ${name}`)
                .execute(tx)
              throw new Error(`rolled back ${rows.map(({ n }) => n > 0).join()}`)
            })
            .catch((error: unknown) => String(error))
          expect(assigned, name).toBe('Error: rolled back true')
        }
      }
    })
  })
})
