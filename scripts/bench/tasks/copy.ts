/**
 * `<database> <state of a build> <target>`: the peer of the build. Reads the same rows; hashes, signs, compresses and writes the
 * same documents and the manifest with the same flush. The documents are in memory before the clock starts. Then it does the
 * same for the documents that one receipt changed.
 */
import { readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'

import { z } from 'zod'

import { compress } from '../../../builder/publish/compress.ts'
import { createDirectory } from '../../../builder/publish/store/directory.ts'
import { sha256Hex } from '../../../src/auth/messages.ts'
import { loadKeys } from '../../../src/auth/service-keys.ts'
import { MANIFEST_FILE, encodedFile, manifestSchema } from '../../../src/core/documents.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { timed } from '../processes.ts'

const [url = '', stateDir = '', targetDir = ''] = process.argv.slice(2)
const published = realpathSync(join(stateDir, 'public/current'))
const manifestText = readFileSync(join(published, MANIFEST_FILE))
const documents = manifestSchema
  .parse(JSON.parse(manifestText.toString()))
  .documents.map(({ path, file, content_type: type }) => {
    return { path, file, type, bytes: readFileSync(join(published, file)) }
  })
const text = readFileSync(join(stateDir, 'changed.json'), 'utf8')
const changed = new Set(z.array(z.string()).parse(JSON.parse(text)))
const database = await openDatabase({ url })
const { signer } = await loadKeys({ dir: join(stateDir, 'keys'), nowMs: Date.now() })

type Levels = Parameters<typeof compress>[2]

async function write(publicDir: string, chosen: typeof documents): Promise<void> {
  const { batch } = createDirectory({ publicDir, fence: 1, check: () => Promise.resolve() })
  await batch(async (putFile) => {
    const put = async (file: string, bytes: Uint8Array) => {
      sha256Hex(bytes)
      await putFile(`files/${file}`, bytes)
    }
    const putForms = async (file: string, type: string, bytes: Uint8Array, levels?: Levels) => {
      signer.sign(bytes)
      await put(file, bytes)
      for (const form of await compress(bytes, type, levels)) {
        await put(encodedFile(file, form.encoding), form.bytes)
      }
    }
    for (const { file, type, bytes } of chosen) await putForms(file, type, bytes)
    await putForms(MANIFEST_FILE, 'application/json', manifestText, { brotli: 1, gzip: 1 })
  })
}

const tables = ['polls', 'rail_state', 'flags', 'events', 'article_views'] as const
const full = await timed(async () => {
  for (const table of tables) await database.reader.selectFrom(table).selectAll().execute()
  await write(targetDir, documents)
})
const peakMb = process.resourceUsage().maxRSS / 1024
const few = documents.filter(({ path }) => changed.has(path))
await write(`${targetDir}-warm`, few)
const change = await timed(() => write(`${targetDir}-change`, few))
await database.close()
process.send?.({
  fullCpuMs: full.cpuMs,
  fullMs: full.ms,
  peakMb,
  receiptCpuMs: change.cpuMs,
  receiptMs: change.ms,
})
process.disconnect()
