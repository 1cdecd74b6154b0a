import { statSync } from 'node:fs'
import { join } from 'node:path'

import { sql } from 'kysely'
import { expect, test } from 'vitest'

import { setMeta } from '../../src/db/meta.ts'
import { openDatabase } from '../../src/db/open.ts'
import { tempFolder } from './temp-database.ts'

/** Writes 8 MB; returns the sizes of the file and its log and the checkpoint setting. */
async function written(checkpoints: 'own' | 'others') {
  const url = join(tempFolder(), `${checkpoints}.db`)
  const database = await openDatabase({ url, checkpoints })
  for (let at = 0; at < 80; at += 1) {
    await database.write((tx) => setMeta(tx, `key ${at}`, 'x'.repeat(100_000)))
  }
  const pragma = await sql<{ wal_autocheckpoint: number }>`pragma wal_autocheckpoint`.execute(
    database.reader,
  )
  const sizes = { file: statSync(url).size, wal: statSync(`${url}-wal`).size }
  await database.close()
  return { ...sizes, setting: pragma.rows[0]?.wal_autocheckpoint }
}

test('the service writes the WAL back to the database, except with Litestream', async () => {
  const others = await written('others')
  expect(others.setting).toBe(0)
  expect(others.wal).toBeGreaterThan(8_000_000)
  const own = await written('own')
  expect(own.setting).toBe(1000)
  expect(own.file).toBeGreaterThan(2 * others.file)
  expect(own.wal).toBeLessThan(others.wal)
})
