import { readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'

import { compress } from '../../../builder/publish/compress.ts'
import { createDirectory } from '../../../builder/publish/store/directory.ts'
import { sha256Hex } from '../../../src/auth/messages.ts'
import { loadKeys } from '../../../src/auth/service-keys.ts'
import { MANIFEST_FILE, encodedFile, manifestSchema } from '../../../src/core/documents.ts'
import type { OpenDatabase } from '../../../src/db/open.ts'
import { nowMs, openPolledLedger } from '../polled-ledger.ts'
import { peakMb, timed } from '../task.ts'

const pageRows = 5000

/**
 * The peer of a build: reads the same rows; hashes, signs, compresses and writes the same documents and the manifest with
 * the same flush. The documents are in memory before the clock starts. Then it does the same for the `changed` documents.
 */
export async function run(
  publicDir: string,
  targetDir: string,
  ledgerDir: string,
  changed: string,
) {
  const published = realpathSync(join(publicDir, 'current'))
  const manifest = manifestSchema.parse(
    JSON.parse(readFileSync(join(published, MANIFEST_FILE), 'utf8')),
  )
  const documents = manifest.documents.map(({ path, file, content_type: type }) => {
    return { path, file, type, bytes: readFileSync(join(published, file)) }
  })
  const { database } = await openPolledLedger(ledgerDir)
  const { signer } = await loadKeys({ dir: join(ledgerDir, 'keys'), nowMs })
  let bytesWritten = 0
  const write = async (dir: string, chosen: typeof documents) => {
    const check = () => Promise.resolve()
    const { batch } = createDirectory({ publicDir: dir, fence: 1, check })
    await batch(async (putFile) => {
      const put = async (file: string, bytes: Uint8Array) => {
        sha256Hex(bytes)
        bytesWritten += bytes.length
        await putFile(`files/${file}`, bytes)
      }
      const putForms = async (file: string, type: string, bytes: Uint8Array, ...levels: Levels) => {
        signer.sign(bytes)
        await put(file, bytes)
        for (const form of await compress(bytes, type, ...levels)) {
          await put(encodedFile(file, form.encoding), form.bytes)
        }
      }
      for (const { file, type, bytes } of chosen) await putForms(file, type, bytes)
      const text = Buffer.from(JSON.stringify(manifest))
      await putForms(MANIFEST_FILE, 'application/json', text, { brotli: 1, gzip: 1 })
    })
  }
  const full = await timed(async () => {
    const count = await readRows(database)
    await write(targetDir, documents)
    return count
  })
  const fullPeakMb = peakMb()
  const paths = new Set(changed.split(' '))
  const few = documents.filter(({ path }) => paths.has(path))
  await write(`${targetDir}-warm`, few)
  const change = await timed(() => write(`${targetDir}-change`, few))
  await database.close()
  return {
    ms: full.ms,
    cpuMs: full.cpuMs,
    peakMb: fullPeakMb,
    rows: full.result,
    writtenMb: bytesWritten / 2 ** 20,
    changeMs: change.ms,
    changeCpuMs: change.cpuMs,
  }
}

type Levels = [] | [levels: { readonly brotli: number; readonly gzip: number }]

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
