/**
 * `<fixture dir> <published dir> <target dir>`: the peer of a build. Reads the same rows and writes the
 * same bytes, flushed alike, with no logic in between. The bytes are in memory before the clock starts.
 */
import { linkSync, mkdirSync, readdirSync, readFileSync, unlinkSync } from 'node:fs'
import { join } from 'node:path'

import { createStagingDirectory } from '../../../builder/publish/staging-directory.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { fixtureIn, nowMs } from './fixture.ts'

const PAGE_ROWS = 5000

const [fixtureDir = '', publishedDir = '', targetDir = ''] = process.argv.slice(2)
const files = readdirSync(publishedDir, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name).slice(publishedDir.length + 1))
const bytesOf = new Map(files.map((file) => [file, readFileSync(join(publishedDir, file))]))
const database = await openDatabase({ url: fixtureIn(fixtureDir).databasePath })

const startedMs = performance.now()
const before = process.cpuUsage()
const rows = await readRows()
const building = createStagingDirectory(targetDir, { nowMs })
for (const [file, bytes] of bytesOf) await building.write(file, bytes)
await building.flush()
const ms = performance.now() - startedMs
const { user, system } = process.cpuUsage(before)
const cpuMs = (user + system) / 1000

const linksCpuMs = linkAndUnlink()

await database.close()
const peakMb = process.resourceUsage().maxRSS / 1024
const written = [...bytesOf.values()].reduce((sum, bytes) => sum + bytes.length, 0)
process.stdout.write(
  `${JSON.stringify({ ms, cpuMs, linksCpuMs, peakMb, rows, files: files.length, written })}\n`,
)

/** What a generation costs that links every file and unlinks every one of an old generation, and nothing else. */
function linkAndUnlink(): number {
  const start = process.cpuUsage()
  const linked = `${targetDir}-links`
  mkdirSync(linked)
  for (const [at, file] of files.entries()) linkSync(join(targetDir, file), `${linked}/${at}`)
  for (const at of files.keys()) unlinkSync(`${linked}/${at}`)
  const spent = process.cpuUsage(start)
  return (spent.user + spent.system) / 1000
}

async function readRows(): Promise<number> {
  const { reader } = database
  let count = 0
  let lastId = 0
  for (;;) {
    const page = await reader
      .selectFrom('polls')
      .selectAll()
      .where('id', '>', lastId)
      .orderBy('id')
      .limit(PAGE_ROWS)
      .execute()
    count += page.length
    lastId = page.at(-1)?.id ?? lastId
    if (page.length < PAGE_ROWS) break
  }
  for (const table of ['rail_state', 'flags', 'events', 'article_views'] as const) {
    count += (await reader.selectFrom(table).selectAll().execute()).length
  }
  return count
}
