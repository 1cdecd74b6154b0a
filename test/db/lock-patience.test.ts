import { expect, onTestFinished, test } from 'vitest'

import { getMeta, setMeta } from '../../src/db/meta.ts'
import { openDatabase } from '../../src/db/open.ts'
import { tempDatabase } from './temp-database.ts'

test('a writer gets the lock while another process writes continuously', async () => {
  const busy = await tempDatabase()
  // Each attempt gets the lock by chance, and a slow disk leaves few attempts.
  const other = await openDatabase({ url: busy.url, lockPatienceMs: 20_000 })
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
