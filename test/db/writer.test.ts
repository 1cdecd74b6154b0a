import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'

import { sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'

import { DatabaseBrokenError, DiskFullError } from '../../src/db/errors.ts'
import { getMeta, setMeta } from '../../src/db/meta.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { sqliteOnly } from '../support/new-database.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { gate, otherConnection, tempDatabase, tempFolder } from './temp-database.ts'

allowSlowTests('commits hundreds of writes')

async function keys({ reader }: OpenDatabase): Promise<readonly string[]> {
  const rows = await reader.selectFrom('meta').select('key').orderBy('key').execute()
  return rows.map((row) => row.key)
}

test('commits 600 concurrent writes, which one transaction cannot contain, in the order of their calls', async () => {
  const database = await tempDatabase()
  const ids = await Promise.all(
    Array.from({ length: 600 }, (_, index) =>
      database.write(async (tx) => {
        await setMeta(tx, `key ${index}`, 'value')
        return (await tx.selectFrom('meta').select('key').execute()).length
      }),
    ),
  )
  expect(ids).toEqual(ids.map((_, index) => index + 1))
})

test('a write resolves only after its commit, and readers do not wait for it', async () => {
  const database = await tempDatabase()
  const blocked = gate()
  let answered = false
  const first = database.write((tx) => setMeta(tx, 'first', '1')).then(() => (answered = true))
  const second = database.write(async (tx) => {
    await setMeta(tx, 'second', '2')
    await blocked.opened
  })
  // A read on another connection sees only what is committed.
  expect(await keys(database)).toEqual([])
  expect(answered).toBe(false)
  blocked.open()
  await Promise.all([first, second])
  expect(await keys(database)).toEqual(['first', 'second'])
})

test('a write that throws rolls back only itself and rejects with its own error', async () => {
  const database = await tempDatabase()
  const outcomes = await Promise.allSettled(
    Array.from({ length: 30 }, (_, index) =>
      database.write(async (tx) => {
        await setMeta(tx, `key ${index}`, 'a')
        await setMeta(tx, `twin ${index}`, 'a')
        if (index % 3 === 0) throw new Error(`refused ${index}`)
        return index
      }),
    ),
  )
  const expected: string[] = []
  for (const [index, outcome] of outcomes.entries()) {
    if (index % 3 === 0) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { message: `refused ${index}` } })
    } else {
      expect(outcome).toEqual({ status: 'fulfilled', value: index })
      expected.push(`key ${index}`, `twin ${index}`)
    }
  }
  expect(await keys(database)).toEqual(expected.sort())
})

sqliteOnly(
  'PostgreSQL ends a write at its first refused statement',
  'a write can catch a unique violation and continue',
  async () => {
    const database = await tempDatabase()
    await database.write((tx) => setMeta(tx, 'taken', 'before'))
    const answer = await database.write(async (tx) => {
      await setMeta(tx, 'other', '1')
      const insert = tx.insertInto('meta').values({ key: 'taken', value: 'after' })
      await expect(insert.execute()).rejects.toThrow('constraint failed')
      return getMeta(tx, 'taken')
    })
    expect(answer).toBe('before')
    expect(await keys(database)).toEqual(['other', 'taken'])
  },
)

sqliteOnly(
  'a pragma makes the commit fail',
  'a failed commit rejects all of its writes and stores none',
  async () => {
    const database = await tempDatabase()
    const good = database.write((tx) => setMeta(tx, 'good', '1'))
    const refused = database.write(() => Promise.reject(new Error('its own error')))
    const bad = database.write(async (tx) => {
      await sql`pragma defer_foreign_keys = on`.execute(tx)
      await sql`insert into rail_state (rail, last_poll_id, state) values ('x', 99, '{}')`.execute(
        tx,
      )
    })
    const outcomes = await Promise.allSettled([good, refused, bad])
    for (const outcome of outcomes) {
      const reason: unknown = outcome.status === 'rejected' ? outcome.reason : null
      expect(String(reason)).toContain('FOREIGN KEY constraint failed')
    }
    expect(await keys(database)).toEqual([])
    await database.write((tx) => setMeta(tx, 'later', '1'))
    expect(await keys(database)).toEqual(['later'])
  },
)

test('using db inside a write fails with an explanation; other writes of the transaction commit', async () => {
  const database = await tempDatabase({ heldLimitMs: 2000 })
  const before = database.write((tx) => setMeta(tx, 'before', '1'))
  const mistaken = database.write(async (tx) => {
    await setMeta(tx, 'undone', '1')
    await setMeta(database.db, 'through db', '1')
  })
  const after = database.write((tx) => setMeta(tx, 'after', '1'))
  await expect(mistaken).rejects.toThrow('Was `db` used inside a transaction instead of `tx`?')
  await Promise.all([before, after])
  expect(await keys(database)).toEqual(['after', 'before'])
})

test('a write that waits for a nested write fails with an explanation; the nested one commits', async () => {
  const database = await tempDatabase({ heldLimitMs: 400 })
  const inner: Promise<void>[] = []
  const outer = database.write(async (tx) => {
    await setMeta(tx, 'outer', '1')
    inner.push(database.write((tx) => setMeta(tx, 'inner', '1')))
    await Promise.all(inner)
  })
  await expect(outer).rejects.toThrow('Did it wait for `db` or for another `write`')
  await Promise.all(inner)
  expect(await keys(database)).toEqual(['inner'])
})

test('a write that ends before its queries is rolled back', async () => {
  const database = await tempDatabase()
  const hasty = database.write((tx) => {
    void setMeta(tx, 'hasty', '1')
    return Promise.resolve()
  })
  await expect(hasty).rejects.toThrow('ended before its queries had ended')
  expect(await keys(database)).toEqual([])
})

test('tx is unusable after its write has ended', async () => {
  const database = await tempDatabase()
  const kept = await database.write((tx) => Promise.resolve({ tx }))
  await expect(setMeta(kept.tx, 'late', '1')).rejects.toThrow('had ended')
  expect(await keys(database)).toEqual([])
})

sqliteOnly(
  'a pragma makes the disk full',
  'a full disk rejects the current and earlier writes of the transaction; later ones commit',
  async () => {
    const database = await tempDatabase()
    const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(database.db)
    await sql.raw(`pragma max_page_count = ${(rows[0]?.page_count ?? 0) + 4}`).execute(database.db)
    const outcomes = await Promise.allSettled([
      database.write((tx) => setMeta(tx, 'before', '1')),
      database.write((tx) => setMeta(tx, 'large', 'x'.repeat(100_000))),
      database.write((tx) => setMeta(tx, 'after', '1')),
    ])
    expect(outcomes.map((outcome) => outcome.status)).toEqual(['rejected', 'rejected', 'fulfilled'])
    for (const outcome of outcomes.slice(0, 2)) {
      expect(outcome.status === 'rejected' && outcome.reason).toBeInstanceOf(DiskFullError)
    }
    expect(database.broken()).toBeNull()
    expect(await keys(database)).toEqual(['after'])
  },
)

sqliteOnly(
  'damages the file',
  'after a write finds damage, later writes fail, while reads and other processes continue',
  async () => {
    const path = join(tempFolder(), 'ledger.db')
    const before = await openDatabase({ url: path })
    await before.write((tx) => setMeta(tx, 'key', 'value'))
    const { rows } = await sql<{ page: number }>`
    select rootpage as page from sqlite_schema where name = 'meta'
  `.execute(before.reader)
    await before.close()
    const file = openSync(path, 'r+')
    writeSync(file, new Uint8Array(4096).fill(0xff), 0, 4096, ((rows[0]?.page ?? 0) - 1) * 4096)
    closeSync(file)

    const database = await openDatabase({ url: path })
    onTestFinished(() => database.close())
    const run = { job: 'build', started_at: '' }
    const insertRun = (): Promise<unknown> =>
      database.write((tx) => tx.insertInto('job_runs').values(run).execute())
    await insertRun()
    expect(database.broken()).toBeNull()
    await expect(database.write((tx) => setMeta(tx, 'other', '1'))).rejects.toThrow(
      DatabaseBrokenError,
    )
    expect(database.broken()).toBeInstanceOf(DatabaseBrokenError)
    await expect(insertRun()).rejects.toThrow(DatabaseBrokenError)
    expect(await database.reader.selectFrom('job_runs').select('job').execute()).toHaveLength(1)
    await expect(openDatabase({ url: path, quickCheck: true })).rejects.toThrow(DatabaseBrokenError)
    const other = await otherConnection(path)
    await other.begin('')
    await other.rollback()
  },
)

test('close waits for queued writes and refuses new ones', async () => {
  const path = join(tempFolder(), 'ledger.db')
  const database = await openDatabase({ url: path })
  const taken = Array.from({ length: 300 }, (_, index) =>
    database.write((tx) => setMeta(tx, `key ${index}`, '1')),
  )
  const closed = database.close()
  await expect(database.write((tx) => setMeta(tx, 'late', '1'))).rejects.toThrow('closing')
  await Promise.all(taken)
  await closed
  const again = await openDatabase({ url: path })
  onTestFinished(() => again.close())
  expect(await keys(again)).toHaveLength(300)
})
