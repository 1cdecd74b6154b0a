import { join } from 'node:path'

import { expect, onTestFinished, test } from 'vitest'

import { BusyError } from '../../src/db/errors.ts'
import { getMeta, setMeta } from '../../src/db/meta.ts'
import { openDatabase } from '../../src/db/open.ts'
import { otherConnection, tempDatabase, tempFolder } from './temp-database.ts'

test('a writer gets the lock while another process writes continuously', async () => {
  const busy = await tempDatabase()
  // A turn is a matter of chance at each look, and a slow disk leaves few of them.
  const other = await openDatabase({ url: busy.path, lockPatienceMs: 20_000 })
  onTestFinished(() => other.close())
  const done = new AbortController()
  const stream = Array.from({ length: 8 }, async (_, lane) => {
    for (let count = 0; !done.signal.aborted; count += 1) {
      await busy.write((tx) => setMeta(tx, `lane ${lane}`, String(count)))
    }
  })
  for (let count = 1; count <= 20; count += 1) {
    await other.write((tx) => setMeta(tx, 'other', String(count)))
  }
  done.abort()
  await Promise.all(stream)
  expect(await getMeta(busy.reader, 'other')).toBe('20')
})

test('a write that waits too long for the lock stores nothing, and later writes commit', async () => {
  const path = join(tempFolder(), 'ledger.db')
  const database = await openDatabase({ url: path, lockPatienceMs: 50 })
  onTestFinished(() => database.close())
  const holder = await otherConnection(path)
  await holder.begin()
  await expect(database.write((tx) => setMeta(tx, 'a', '1'))).rejects.toThrow(BusyError)
  await holder.rollback()
  await database.write((tx) => setMeta(tx, 'b', '2'))
  expect([await getMeta(database.reader, 'a'), await getMeta(database.reader, 'b')]).toEqual([
    null,
    '2',
  ])
})
