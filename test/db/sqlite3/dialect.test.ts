import { Buffer } from 'node:buffer'
import { join } from 'node:path'

import { CompiledQuery, Kysely, sql } from 'kysely'
import type { Generated } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'

import { createDialect } from '../../../src/db/dialect.ts'
import { isUniqueViolation, ParameterError, UnsafeIntegerError } from '../../../src/db/errors.ts'
import { openSqlite3 } from '../../../src/db/sqlite3/connection.ts'
import { gate, tempFolder } from '../temp-database.ts'

interface Tables {
  things: {
    id: Generated<number>
    name: string | null
    amount: number | null
    body: Uint8Array | null
    ratio: number | null
  }
}

async function database(): Promise<Kysely<Tables>> {
  const path = join(tempFolder(), 'things.db')
  const connection = await openSqlite3({ path, mode: 'create', heldLimitMs: 5000 })
  const db = new Kysely<Tables>({ dialect: createDialect(connection) })
  onTestFinished(() => db.destroy())
  await sql`create table things (
    id integer primary key, name text unique, amount integer, body blob, ratio real
  ) strict`.execute(db)
  return db
}

const damaged = {
  'a bigint': 2n ** 53n + 1n,
  'a small bigint': 1n,
  'a Date': new Date(5),
  'an object': { a: 1 },
  'an array': [1, 2],
  'a Map': new Map(),
  undefined,
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  'minus Infinity': Number.NEGATIVE_INFINITY,
  'an integer beyond 2^53-1': 2 ** 53,
  'an integer below -(2^53-1)': -(2 ** 53),
  'a lone surrogate': 'a\uD800b',
  'a function': () => 1,
  'a symbol': Symbol('s'),
  'an array of floats': new Float64Array(1),
} as const

test.each(Object.entries(damaged))(
  'refuses %s as a parameter before calling the driver',
  async (_, value) => {
    const db = await database()
    const insert = CompiledQuery.raw('insert into things (name) values (?)', [value])
    await expect(db.executeQuery(insert)).rejects.toThrow(ParameterError)
    expect(await db.selectFrom('things').select('id').execute()).toEqual([])
  },
)

test('returns values that the driver preserves exactly as stored', async () => {
  const db = await database()
  const texts = ['', 'a\0b', '\u{1F600}', 'ß', ' ', "'; drop table things; --"]
  const { MAX_SAFE_INTEGER, MIN_SAFE_INTEGER } = Number
  const integers = [0, -1, 2 ** 31, -(2 ** 31) - 1, MAX_SAFE_INTEGER, MIN_SAFE_INTEGER]
  const bodies = [Buffer.alloc(0), new Uint8Array([0, 255]), new Uint8Array([1, 2, 3]).subarray(1)]
  for (const name of texts) await db.insertInto('things').values({ name }).execute()
  for (const amount of integers) await db.insertInto('things').values({ amount }).execute()
  for (const body of bodies) await db.insertInto('things').values({ body }).execute()
  await db.insertInto('things').values({ ratio: 0.1 }).execute()

  const rows = await db
    .selectFrom('things')
    .select(['name', 'amount', 'body', 'ratio'])
    .select(sql<string>`typeof(amount)`.as('kind'))
    .orderBy('id')
    .execute()
  expect(rows.flatMap(({ name }) => (name === null ? [] : [name]))).toEqual(texts)
  expect(rows.flatMap(({ amount }) => (amount === null ? [] : [amount]))).toEqual(integers)
  expect(rows.flatMap(({ amount, kind }) => (amount === null ? [] : [kind]))).toEqual(
    integers.map(() => 'integer'),
  )
  expect(rows.flatMap(({ body }) => (body === null ? [] : [[...body]]))).toEqual([
    [],
    [0, 255],
    [2, 3],
  ])
  expect(rows.at(-1)).toMatchObject({ name: null, amount: null, body: null, ratio: 0.1 })
})

test('stores a boolean as 0 or 1', async () => {
  const db = await database()
  const { rows } = await sql`select ${true} as yes, ${false} as no`.execute(db)
  expect(rows).toEqual([{ yes: 1, no: 0 }])
})

test('refuses to read an integer beyond 2^53-1 instead of rounding it', async () => {
  const db = await database()
  await sql`insert into things (amount) values (9007199254740993)`.execute(db)
  const read = db.selectFrom('things').select('amount').execute()
  await expect(read).rejects.toThrow(UnsafeIntegerError)
  const asText = await sql`select cast(amount as text) as amount from things`.execute(db)
  expect(asText.rows).toEqual([{ amount: '9007199254740993' }])
})

test('a write without a returning clause reports its row count and its id', async () => {
  const db = await database()
  const first = await db
    .insertInto('things')
    .values([{ name: 'a' }, { name: 'b' }])
    .executeTakeFirst()
  expect(first).toMatchObject({ insertId: 2n, numInsertedOrUpdatedRows: 2n })
  const updated = await db.updateTable('things').set({ amount: 7 }).executeTakeFirst()
  expect(updated.numUpdatedRows).toBe(2n)
  const ignored = await db
    .insertInto('things')
    .values({ name: 'a' })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst()
  expect(ignored.numInsertedOrUpdatedRows).toBe(0n)
  expect(ignored.insertId).toBeUndefined()
  const deleted = await db.deleteFrom('things').where('name', '=', 'b').executeTakeFirst()
  expect(deleted.numDeletedRows).toBe(1n)
})

test('distinguishes a duplicate key from other errors', async () => {
  const db = await database()
  await db.insertInto('things').values({ id: 1, name: 'a' }).execute()
  const outcomes = await Promise.allSettled([
    db.insertInto('things').values({ name: 'a' }).execute(),
    db.insertInto('things').values({ id: 1 }).execute(),
    sql`insert into things (amount) values ('x')`.execute(db),
  ])
  const areDuplicates = outcomes.map(
    (outcome) => outcome.status === 'rejected' && isUniqueViolation(outcome.reason),
  )
  expect(areDuplicates).toEqual([true, true, false])
})

test('refuses to stream query results, with a reason', async () => {
  const db = await database()
  const read = async (): Promise<void> => {
    for await (const _ of db.selectFrom('things').select('id').stream()) break
  }
  await expect(read()).rejects.toThrow('Streaming is not supported')
})

test('a failed transaction stores nothing and does not roll back a concurrent write', async () => {
  const db = await database()
  const started = gate()
  const failing = db.transaction().execute(async (tx) => {
    await tx.insertInto('things').values({ name: 'undone' }).execute()
    started.open()
    await tx.insertInto('things').values({ name: 'undone too' }).execute()
    throw new Error('given up')
  })
  await started.opened
  const concurrent = db.insertInto('things').values({ name: 'kept' }).execute()
  await expect(failing).rejects.toThrow('given up')
  await concurrent
  expect(await db.selectFrom('things').select('name').execute()).toEqual([{ name: 'kept' }])
})

test('runs more distinct statements than the cache holds, then closes the file', async () => {
  const db = await database()
  for (let width = 1; width <= 300; width += 1) {
    const ids = Array.from({ length: width }, (_, index) => index)
    await db.selectFrom('things').select('id').where('id', 'in', ids).execute()
  }
  await db.destroy()
})

test('a cached statement follows a schema change', async () => {
  const db = await database()
  await db.insertInto('things').values({ name: 'a' }).execute()
  const all = sql<Record<string, unknown>>`select * from things`
  expect(Object.keys((await all.execute(db)).rows[0] ?? {})).toHaveLength(5)
  await sql`alter table things add column extra text`.execute(db)
  expect(Object.keys((await all.execute(db)).rows[0] ?? {})).toHaveLength(6)
})

test('a full disk ends the transaction and refuses its later statements', async () => {
  const db = await database()
  await sql`pragma max_page_count = 8`.execute(db)
  const filling = db.transaction().execute(async (tx) => {
    await tx.insertInto('things').values({ name: 'first' }).execute()
    const large = tx.insertInto('things').values({ body: new Uint8Array(100_000) })
    await expect(large.execute()).rejects.toThrow('no room')
    await tx.insertInto('things').values({ name: 'outside of any transaction' }).execute()
  })
  await expect(filling).rejects.toThrow('no room')
  await db.insertInto('things').values({ name: 'small' }).execute()
  expect(await db.selectFrom('things').select('name').execute()).toEqual([{ name: 'small' }])
})
