import { readFileSync, readdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'

import { createStagingDirectory } from '../../../builder/publish/staging-directory.ts'
import type { OpenDatabase } from '../../../src/db/open.ts'
import { openPolledLedger } from '../polled-ledger.ts'
import { peakMb, timed } from '../task.ts'

const pageRows = 5000

/**
 * The peer of a build: reads the rows of the ledger and writes the bytes of the published set with the same flush. The bytes are in memory before the clock starts.
 */
export async function run(publicDir: string, targetDir: string, ledgerDir: string) {
  const published = realpathSync(join(publicDir, 'current'))
  const files = readdirSync(published, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(published.length + 1))
  const bytes = files.map((file) => readFileSync(join(published, file)))
  const { database } = await openPolledLedger(ledgerDir)
  const { result, ms, cpuMs } = await timed(async () => {
    const rows = await readRows(database)
    const recycle = () => Promise.resolve(null)
    const staging = createStagingDirectory(targetDir, { nowMs: Date.now(), recycle })
    for (const [at, file] of files.entries()) {
      await staging.write(file, bytes[at] ?? Buffer.alloc(0))
    }
    await staging.flush()
    return rows
  })
  await database.close()
  const writtenMb = bytes.reduce((sum, { length }) => sum + length, 0) / 2 ** 20
  return { ms, cpuMs, peakMb: peakMb(), rows: result, files: files.length, writtenMb }
}

async function readRows({ reader }: OpenDatabase): Promise<number> {
  let count = 0
  let lastId = 0
  for (;;) {
    const page = await reader
      .selectFrom('polls')
      .selectAll()
      .where('id', '>', lastId)
      .orderBy('id')
      .limit(pageRows)
      .execute()
    count += page.length
    lastId = page.at(-1)?.id ?? lastId
    if (page.length < pageRows) break
  }
  for (const table of ['rail_state', 'flags', 'events', 'article_views'] as const) {
    count += (await reader.selectFrom(table).selectAll().execute()).length
  }
  return count
}
