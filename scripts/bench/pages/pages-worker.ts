/** `<dir>`: builds the site of a large world, then again after one change, then writes the same bytes with no logic. */
import { readdirSync, readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'

import { loadKeys } from '../../../builder/publish/keys.ts'
import { emptyMemory, publish } from '../../../builder/publish/publish.ts'
import { createStagingDirectory } from '../../../builder/publish/staging-directory.ts'
import { createSite } from '../../../builder/site/site-documents.ts'
import type { World } from '../../../builder/world/world.ts'
import { largeWorld, nowMs, oneReceiptRejected } from './large-world.ts'

const [dir = ''] = process.argv.slice(2)
const publicDir = join(dir, 'public')
const keys = await loadKeys({ dir: join(dir, 'keys'), nowMs })
const world = await largeWorld(dir, keys.publicKeys)
const memory = emptyMemory()
const siteOf = createSite()
const quiet = () => undefined
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
const { signer, ring } = keys

const full = await timed(async () => built(world))
const pages = full.result.manifest.documents.filter(({ content_type: type }) =>
  type.startsWith('text/html'),
).length
const one = await timed(async () => built(oneReceiptRejected(world)))
const copy = await copied(realpathSync(join(publicDir, 'current')), join(dir, 'copy'))
process.stdout.write(
  `${JSON.stringify({
    pages,
    full: { ms: full.ms, cpuMs: full.cpuMs },
    one: { ms: one.ms, cpuMs: one.cpuMs, changed: one.result.changed },
    copy: { ms: copy.ms, cpuMs: copy.cpuMs, files: copy.result },
  })}\n`,
)

/** Rendering and publishing together, as a build does it. */
async function built(of: World) {
  const documents = siteOf(of, [])
  return await publish({ publicDir, documents, assetsDir: null, signer, ring, nowMs, log, memory })
}

async function copied(from: string, to: string) {
  const files = readdirSync(from, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(from.length + 1))
  const bytes = files.map((file) => [file, readFileSync(join(from, file))] as const)
  return await timed(async () => {
    const building = createStagingDirectory(to, { nowMs })
    for (const [file, body] of bytes) await building.write(file, body)
    await building.flush()
    return files.length
  })
}

async function timed<T>(work: () => Promise<T>): Promise<{ result: T; ms: number; cpuMs: number }> {
  const startedMs = performance.now()
  const before = process.cpuUsage()
  const result = await work()
  const { user, system } = process.cpuUsage(before)
  return { result, ms: performance.now() - startedMs, cpuMs: (user + system) / 1000 }
}
