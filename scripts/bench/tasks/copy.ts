/**
 * `<published dir> <target dir> [<database>]`: the peer of a build. Reads the same rows and writes the same bytes, with the
 * same flush and no logic. The bytes are in memory before the clock starts. Afterwards links all files and unlinks them.
 */
import { linkSync, mkdirSync, readFileSync, readdirSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'

import { createStagingDirectory } from '../../../builder/publish/staging-directory.ts'
import { openDatabase } from '../../../src/db/open.ts'
import type { OpenDatabase } from '../../../src/db/open.ts'
import { peakMb, report, textArgument, timed } from '../task.ts'

const pageRows = 5000
const [publishedDir, targetDir, databasePath] = [textArgument(0), textArgument(1), process.argv[4]]
const files = readdirSync(publishedDir, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name).slice(publishedDir.length + 1))
const bytes = files.map((file) => readFileSync(join(publishedDir, file)))
const database = databasePath === undefined ? null : await openDatabase({ url: databasePath })

const copied = await timed(async () => {
  const rows = database === null ? 0 : await readRows(database)
  const staging = createStagingDirectory(targetDir, {
    nowMs: Date.now(),
    recycle: () => Promise.resolve(null),
  })
  for (const [at, file] of files.entries()) await staging.write(file, bytes[at] ?? Buffer.alloc(0))
  await staging.flush()
  return rows
})
const linked = await timed(() => {
  const links = `${targetDir}-links`
  mkdirSync(links)
  for (const [at, file] of files.entries()) linkSync(join(targetDir, file), join(links, String(at)))
  for (const at of files.keys()) unlinkSync(join(links, String(at)))
})
await database?.close()
report({
  ms: copied.ms,
  cpuMs: copied.cpuMs,
  linksCpuMs: linked.cpuMs,
  peakMb: peakMb(),
  rows: copied.result,
  files: files.length,
  writtenMb: bytes.reduce((sum, { length }) => sum + length, 0) / 2 ** 20,
})

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
