/** A process that stalls while it waits for the lock of the ledger, for longer than PostgreSQL leaves a transaction idle. */
import { Client } from 'pg'
import { expect, onTestFinished, test } from 'vitest'

import { DatabaseUnavailableError } from '../../../src/db/errors.ts'
import { getMeta, setMeta } from '../../../src/db/meta.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { newPostgresDatabase } from '../../support/new-database.ts'
import { startPostgres } from '../../support/postgres.ts'

const ledgerLock = 0x41_49_4c_31
const stallMs = 6500

test('a write whose transaction ended while its process stalled stores nothing', async () => {
  const server = await startPostgres()
  onTestFinished(() => server.stop())
  const url = await newPostgresDatabase(server.url)
  const database = await openDatabase({ url })
  const other = new Client(url)
  await other.connect()
  await database.write((tx) => setMeta(tx, 'lanes', 'open'), ['key'])
  const waiting = async () => {
    const { rows } = await other.query<{ waiting: number }>(
      `select count(*)::int as waiting from pg_locks where locktype = 'advisory' and not granted`,
    )
    return rows
  }
  const holder = new Client(url)
  await holder.connect()
  await holder.query(`begin; select pg_advisory_xact_lock(${ledgerLock})`)
  const writes = [
    database.write((tx) => setMeta(tx, 'grouped', '1')),
    database.write((tx) => setMeta(tx, 'locked', '1'), ['key']),
  ]
  await expect.poll(waiting).toEqual([{ waiting: 2 }])
  // The server keeps running while this process stalls.
  const freed = holder.query('select pg_sleep(0.2); commit')
  await new Promise((resolve) => setImmediate(resolve))
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, stallMs)
  const refused = writes.map((write) => expect(write).rejects.toThrow(DatabaseUnavailableError))
  await Promise.all(refused)
  await freed
  expect([
    await getMeta(database.reader, 'grouped'),
    await getMeta(database.reader, 'locked'),
  ]).toEqual([null, null])
  await database.write((tx) => setMeta(tx, 'grouped', '2'))
  expect(await getMeta(database.reader, 'grouped')).toBe('2')
  await Promise.all([other.end(), holder.end(), database.close()])
})
