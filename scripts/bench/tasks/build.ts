/**
 * `<database> <state> <now> [<target>]`: a full build, one without changes, and one after each of thirty new receipts. With a target,
 * the peer: reads the same rows; hashes, signs, compresses and writes the same documents and the manifest with the same flush. The
 * documents are in memory before its clock starts. Then the same for the documents that one receipt changed.
 */
import { readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { sql } from 'kysely'
import { z } from 'zod'

import { emptyBuildMemory } from '../../../builder/jobs/build-memory.ts'
import { build } from '../../../builder/jobs/build.ts'
import { compress } from '../../../builder/publish/compress.ts'
import { createDirectory } from '../../../builder/publish/store/directory.ts'
import { sha256Hex } from '../../../src/auth/messages.ts'
import { loadKeys } from '../../../src/auth/service-keys.ts'
import { MANIFEST_FILE, encodedFile, manifestSchema } from '../../../src/core/documents.ts'
import { median } from '../../../src/core/median.ts'
import { minuteMs } from '../../../src/core/time.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { packageRoot } from '../../../src/runtime/runtime.ts'
import { buildOptions } from '../../../test/support/build-options.ts'
import type { Sample } from '../bench.ts'
import { timed } from '../processes.ts'

const [url = '', stateDir = '', now, target] = process.argv.slice(2)
const nowMs = Number(now)
const receipts = 30
const late = 10
const changedFile = join(stateDir, 'changed.json')

const database = await openDatabase({ url })
const keys = await loadKeys({ dir: join(stateDir, 'keys'), nowMs })
const peakMb = () => process.resourceUsage().maxRSS / 1024

process.send?.(await (target === undefined ? builds() : copies(target)))
await database.close()
process.disconnect()

async function builds(): Promise<Sample> {
  const dataDir = join(packageRoot, 'data')
  const place = buildOptions({ database, dataDir, keys, stateDir })
  const options = { ...place, memory: emptyBuildMemory({ dataDir }) }
  const buildAfter = (minutes: number) =>
    timed(() => build({ ...options, nowMs: nowMs + minutes * minuteMs }))
  const full = await buildAfter(0)
  const fullMb = peakMb()
  const unchanged = await buildAfter(1)
  const all: (typeof full)[] = []
  for (let receipt = 1; receipt <= receipts; receipt += 1) {
    await addReceipt()
    all.push(await buildAfter(1 + receipt))
  }
  const warm = all.slice(-late)
  writeFileSync(changedFile, JSON.stringify(warm.at(-1)?.result.published.changed ?? []))
  return {
    fullCpuMs: full.cpuMs,
    fullMs: full.ms,
    peakMb: fullMb,
    unchangedCpuMs: unchanged.cpuMs,
    receiptCpuMs: median(warm.map(({ cpuMs }) => cpuMs)),
    receiptMs: median(warm.map(({ ms }) => ms)),
  }
}

async function addReceipt(): Promise<void> {
  const copied = sql`kind, rail, from_wallet, from_display, to_wallet, to_display, amount_micro_usdc, asset_symbol,
    occurred_at, summary, platform, submitter, content, verification, accepted_at`
  await database.write((tx) =>
    sql`insert into receipts (id, onchain, ${copied})
      select 'rcp_' || lower(hex(randomblob(32))), 'none', ${copied} from receipts order by seq desc limit 1`.execute(
      tx,
    ),
  )
}

async function copies(to: string): Promise<Sample> {
  const published = realpathSync(join(stateDir, 'public/current'))
  const manifest = readFileSync(join(published, MANIFEST_FILE))
  const documents = manifestSchema
    .parse(JSON.parse(manifest.toString()))
    .documents.map((one) => ({ ...one, bytes: readFileSync(join(published, one.file)) }))
  const changed = z.array(z.string()).parse(JSON.parse(readFileSync(changedFile, 'utf8')))
  const write = (publicDir: string, chosen: typeof documents) =>
    createDirectory({ publicDir, fence: 1, check: () => Promise.resolve() }).batch(
      async (putFile) => {
        const put = async (file: string, bytes: Uint8Array) => {
          sha256Hex(bytes)
          await putFile(`files/${file}`, bytes)
        }
        const putForms = async (file: string, ...of: Parameters<typeof compress>) => {
          keys.signer.sign(of[0])
          await put(file, of[0])
          for (const form of await compress(...of))
            await put(encodedFile(file, form.encoding), form.bytes)
        }
        for (const { file, content_type: type, bytes } of chosen) await putForms(file, bytes, type)
        await putForms(MANIFEST_FILE, manifest, 'application/json', { brotli: 1, gzip: 1 })
      },
    )
  const tables = ['polls', 'rail_state', 'flags', 'events', 'article_views'] as const
  const full = await timed(async () => {
    for (const table of tables) await database.reader.selectFrom(table).selectAll().execute()
    await write(to, documents)
  })
  const fullMb = peakMb()
  const few = documents.filter(({ path }) => changed.includes(path))
  await write(`${to}-warm`, few)
  const change = await timed(() => write(`${to}-change`, few))
  return {
    fullCpuMs: full.cpuMs,
    fullMs: full.ms,
    peakMb: fullMb,
    receiptCpuMs: change.cpuMs,
    receiptMs: change.ms,
  }
}
