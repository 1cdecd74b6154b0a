/** Work of the builder: whole builds, the log, and evidence. */
import { mkdirSync, readFileSync, readdirSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { emptyBuildMemory } from '../../../builder/jobs/build-memory.ts'
import { build as buildSet } from '../../../builder/jobs/build.ts'
import { createLedgerLog } from '../../../builder/log/log.ts'
import { compress } from '../../../builder/publish/compress.ts'
import { createDirectory } from '../../../builder/publish/store/directory.ts'
import { sha256Hex } from '../../../src/auth/messages.ts'
import { loadLogSigner } from '../../../src/auth/notes.ts'
import { loadKeys } from '../../../src/auth/service-keys.ts'
import { pathOf } from '../../../src/contract/routes.ts'
import { MANIFEST_FILE, encodedFile, manifestSchema } from '../../../src/core/documents.ts'
import { median } from '../../../src/core/median.ts'
import { dayMs, minuteMs } from '../../../src/core/time.ts'
import { parseWallet } from '../../../src/core/wallet.ts'
import { queueEntries } from '../../../src/db/log.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { packageRoot, systemClock, systemRandom } from '../../../src/runtime/runtime.ts'
import { buildOptions } from '../../../test/support/build-options.ts'
import { inventedRails, paymentsOf, pollAt } from '../../../test/support/invented-polls.ts'
import { fillLedger } from '../../../test/support/large-ledger.ts'
import { quietLog } from '../../../test/support/quiet-log.ts'
import { receiptRow, storeReceipt } from '../../../test/support/receipts.ts'
import { evmWallet } from '../../../test/support/wallets.ts'
import type { Suite } from '../bench.ts'
import {
  buildOnce,
  databaseIn,
  programOf,
  repeat,
  runProgram,
  startService,
  timed,
} from '../processes.ts'

const dataDir = join(packageRoot, 'data')
const directoryAt = (publicDir: string) =>
  createDirectory({ publicDir, fence: 1, check: () => Promise.resolve() })

export const build: Suite = async ({ dir, quick, receipts, running }) => {
  await fillLedger(databaseIn(dir), receipts)
  const database = await openDatabase({ url: databaseIn(dir) })
  await running(Promise.resolve({ stop: () => database.close() }))
  let nowMs = Date.UTC(2026, 10, 21, 6)
  const everyMs = quick ? 7 * dayMs : dayMs / 4
  const count = Math.floor((365 * dayMs) / everyMs)
  const timesMs = Array.from({ length: count }, (_, at) => nowMs - (count - 1 - at) * everyMs)
  await pollAt(database, timesMs, inventedRails)
  const keys = await loadKeys({ dir: join(dir, 'keys'), nowMs })
  const worker = parseWallet(evmWallet('worker').address)
  let runs = 0
  let stateDir = ''
  let changed: readonly string[] = []

  async function ours() {
    runs += 1
    stateDir = join(dir, `build-${runs}`)
    const place = buildOptions({ database, dataDir, keys, stateDir })
    const options = { ...place, memory: emptyBuildMemory({ dataDir }) }
    const buildLater = () => timed(() => buildSet({ ...options, nowMs: (nowMs += minuteMs) }))
    const full = await buildLater()
    const each: (typeof full)[] = []
    while (each.length < 30) {
      const id = `rcp_${sha256Hex(`${runs} ${each.length}`)}`
      await database.write((tx) => storeReceipt(tx, receiptRow(nowMs, { id, to: worker })))
      each.push(await buildLater())
    }
    const warm = each.slice(-10)
    changed = warm.at(-1)?.result.published.changed ?? []
    return {
      fullCpuMs: full.cpuMs,
      receiptCpuMs: median(warm.map(({ cpuMs }) => cpuMs)),
      receiptMs: median(warm.map(({ ms }) => ms)),
    }
  }

  /** Reads the same rows; signs, compresses, hashes and writes the same documents and the manifest with the same flush. */
  async function sameBytes() {
    const published = realpathSync(join(stateDir, 'public/current'))
    const read = (file: string) => ({ file, bytes: readFileSync(join(published, file)) })
    const manifest = { ...read(MANIFEST_FILE), type: 'application/json', path: '' }
    const documents = manifestSchema
      .parse(JSON.parse(manifest.bytes.toString()))
      .documents.map(({ path, file, content_type: type }) => ({ ...read(file), path, type }))
    let copies = 0
    const write = async (chosen: typeof documents) => {
      copies += 1
      await directoryAt(join(stateDir, `copy-${copies}`)).batch(async (putFile) => {
        for (const { file, bytes, type } of [...chosen, manifest]) {
          keys.signer.sign(bytes)
          const levels = file === MANIFEST_FILE ? ([{ brotli: 1, gzip: 1 }] as const) : []
          const forms = await compress(bytes, type, ...levels)
          const files = forms.map((form) => [encodedFile(file, form.encoding), form.bytes] as const)
          for (const [name, content] of [[file, bytes] as const, ...files]) {
            sha256Hex(content)
            await putFile(`files/${name}`, content)
          }
        }
      })
    }
    const tables = ['polls', 'rail_state', 'flags', 'events', 'article_views'] as const
    const full = await timed(async () => {
      for (const table of tables) await database.reader.selectFrom(table).selectAll().execute()
      await write(documents)
    })
    const few = documents.filter(({ path }) => changed.includes(path))
    await write(few)
    const receipt = await timed(() => write(few))
    return { fullCpuMs: full.cpuMs, receiptCpuMs: receipt.cpuMs }
  }

  return {
    what: 'build',
    ours,
    peer: ['the same bytes', sameBytes],
    targets: {
      fullCpuMs: ['mostRatio', 1.4],
      receiptCpuMs: ['mostRatio', 1.6],
      receiptMs: ['most', 120],
    },
  }
}

export const log: Suite = async ({ dir, many, receipts, running }) => {
  const service = await running(startService(dir))
  const database = await openDatabase({ url: databaseIn(dir) })
  await running(Promise.resolve({ stop: () => database.close() }))
  const published = directoryAt(join(dir, 'public'))
  const written: Parameters<typeof published.put>[] = []
  const put = (...file: (typeof written)[number]) => {
    written.push(file)
    return published.put(...file)
  }
  const ledgerLog = createLedgerLog({
    database,
    files: { ...published, put },
    signer: await loadLogSigner(join(dir, 'run/keys'), systemRandom),
    clock: systemClock,
    log: quietLog,
    askSizes: () => Promise.resolve([]),
  })
  let entries = 0
  const hashOf = (at: number) => sha256Hex(`receipt ${at}`)
  /** Returns the CPU time for sequencing and publishing the entries. */
  const add = async (count: number): Promise<number> => {
    const added = Array.from({ length: count }, (_, at) => {
      const sha256 = hashOf(entries + at)
      return { kind: 'receipt', id: `rcp_${sha256}`, sha256 } as const
    })
    entries += count
    // The suite `writes` measures this part of the transaction.
    await database.write((tx) => queueEntries(tx, added))
    return (await timed(() => ledgerLog.grow())).cpuMs
  }
  for (let added = 0; added < receipts; added += 1000) await add(1000)
  /** Fills a tile, so that every width occurs. */
  const alone = 256
  let copies = 0
  const ours = async () => {
    written.length = 0
    let cpuMs = 0
    for (let at = 0; at < alone; at += 1) cpuMs += await add(1)
    return { cpuMs: cpuMs / alone }
  }
  const filesAlone = async () => {
    copies += 1
    const copy = directoryAt(join(dir, `copy-${copies}`))
    const { cpuMs } = await timed(async () => {
      for (const file of written) await copy.put(...file)
    })
    return { cpuMs: cpuMs / alone }
  }
  const proof = { path: `${pathOf('listReceipts')}/rcp_${hashOf(0)}/proof` }
  return [
    {
      what: 'one more entry of the log',
      ours,
      peer: ['its files alone', filesAlone],
      targets: { cpuMs: ['mostRatio', 2] },
    },
    {
      what: 'proof of a receipt',
      ours: () => repeat(service, proof, many(6000), 1),
      targets: { p99Ms: ['most', 5] },
    },
  ]
}

/** `<url> <file>…`: downloads files of lines, and hashes each line. */
const hashLines = `import { createHash } from 'node:crypto'
  for (const file of process.argv.slice(2)) {
    const answer = await fetch(process.argv[1] + file)
    for (const line of [await answer.json()].flat()) createHash('sha256').update(String(line)).digest()
  }`

export const recompute: Suite = async ({ dir, many, running }) => {
  mkdirSync(dirname(databaseIn(dir)))
  const database = await openDatabase({ url: databaseIn(dir) })
  const lines = many(100_000)
  const nowMs = Date.now()
  await pollAt(database, [nowMs], paymentsOf(nowMs, lines))
  await database.close()
  buildOnce(dir)
  const { origin } = await running(startService(dir))
  const ledger = ['--ledger', origin, '--allow-unchecked']
  const ours = [programOf('scripts/cli/main.js'), 'recompute', 'x402', ...ledger]
  const files = readdirSync(join(dir, 'public/evidence')).filter((name) => name.endsWith('.json'))
  const peer = ['--input-type=module', '-e', hashLines, `${origin}/evidence/`, ...files]
  return {
    what: `recompute ${lines.toLocaleString('en-US')} lines`,
    ours: () => runProgram(ours),
    peer: ['read and hash', () => runProgram(peer)],
    targets: { ms: ['mostRatio', 3] },
  }
}
