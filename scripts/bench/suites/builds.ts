/** Work of the builder on a large ledger: whole builds, and its log. */
import { readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'

import { emptyBuildMemory } from '../../../builder/jobs/build-memory.ts'
import { build as buildSet } from '../../../builder/jobs/build.ts'
import type { LedgerLog } from '../../../builder/log/log.ts'
import { compress } from '../../../builder/publish/compress.ts'
import { sha256Hex } from '../../../src/auth/messages.ts'
import { loadLogSigner } from '../../../src/auth/notes.ts'
import { loadKeys } from '../../../src/auth/service-keys.ts'
import { pathOf } from '../../../src/contract/routes.ts'
import { MANIFEST_FILE, encodedFile, manifestSchema } from '../../../src/core/documents.ts'
import { median } from '../../../src/core/median.ts'
import { dayMs, minuteMs } from '../../../src/core/time.ts'
import { parseWallet } from '../../../src/core/wallet.ts'
import { findCheckpoint, putCheckpoint, queueEntries } from '../../../src/db/log.ts'
import type { OpenDatabase } from '../../../src/db/open.ts'
import { packageRoot, systemRandom } from '../../../src/runtime/runtime.ts'
import { buildOptions } from '../../../test/support/build-options.ts'
import { inventedRails, paymentsOf, pollAt } from '../../../test/support/invented-polls.ts'
import { localDirectory, localLog, recordingDirectory } from '../../../test/support/publish-log.ts'
import { receiptRow, storeReceipt } from '../../../test/support/receipts.ts'
import { buildOnce, startLedger } from '../../../test/support/server-process.ts'
import { evmWallet } from '../../../test/support/wallets.ts'
import type { Suite } from '../bench.ts'
import { openLedger, repeat, timed } from '../processes.ts'

const dataDir = join(packageRoot, 'data')

const hashOf = (at: number) => sha256Hex(`receipt ${at}`)

/** Adds entries from one number to another in steps, and returns the CPU time of indexing and publishing them. */
async function growLog(db: OpenDatabase, log: LedgerLog, from: number, to: number, step = 1000) {
  let cpuMs = 0
  for (let at = from; at < to; at += step) {
    const entries = Array.from({ length: Math.min(step, to - at) }, (_, more) => {
      const sha256 = hashOf(at + more)
      return { kind: 'receipt', id: `rcp_${sha256}`, sha256 } as const
    })
    // The suite `writes` measures this part of the transaction.
    await db.write((tx) => queueEntries(tx, entries))
    cpuMs += (await timed(() => log.grow())).cpuMs
  }
  return cpuMs
}

export const build: Suite = async ({ dir, many, receipts, fill, running }) => {
  await fill()
  const database = await running(openLedger(dir))
  let nowMs = Date.UTC(2026, 10, 21, 6)
  const polls = many(360)
  const everyMs = (365 * dayMs) / polls
  const timesMs = Array.from({ length: polls }, (_, at) => nowMs - (at + 1) * everyMs)
  await pollAt(database, timesMs.toReversed(), inventedRails)
  await pollAt(database, [nowMs], paymentsOf(nowMs, 10_000))
  // Creates the keys.
  await (await startLedger(dir)).stop()
  const signer = await loadLogSigner(join(dir, 'run/keys'), systemRandom)
  const files = localDirectory(join(dir, 'public'))
  // The suite `log` has larger ones.
  await growLog(database, localLog({ database, files, signer }), 0, Math.min(receipts, 100_000))
  const peak = buildOnce(dir)
  const keys = await loadKeys({ dir: join(dir, 'run/keys'), nowMs })
  const worker = parseWallet(evmWallet('worker').address)
  let runs = 0
  let stateDir = ''
  let changed: readonly string[] = []
  let alone: ReturnType<typeof recordingDirectory>['written'] = []

  async function ours() {
    runs += 1
    stateDir = join(dir, `build-${runs}`)
    const { files, written } = recordingDirectory(join(stateDir, 'public'))
    const place = buildOptions({ database, dataDir, keys, stateDir })
    const options = { ...place, store: files, memory: emptyBuildMemory({ dataDir }), move: true }
    const buildLater = () => timed(() => buildSet({ ...options, nowMs: (nowMs += minuteMs) }))
    // An operator accepts in this way that a log continues in an empty directory.
    const { size = 0, note = '' } = (await findCheckpoint(database.reader, 'signed')) ?? {}
    await database.write((tx) => putCheckpoint(tx, 'accepted', { size, note }))
    const full = await buildLater()
    const logged = await timed(() => localLog({ database, files, signer }).grow())
    alone = [...written]
    const each: (typeof full)[] = []
    while (each.length < 20) {
      const id = `rcp_${sha256Hex(`${runs} ${each.length}`)}`
      await database.write((tx) => storeReceipt(tx, receiptRow(nowMs, { id, to: worker })))
      each.push(await buildLater())
    }
    const warm = each.slice(-10)
    changed = warm.at(-1)?.result.published.changed ?? []
    return {
      fullCpuMs: full.cpuMs + logged.cpuMs,
      receiptCpuMs: median(warm.map(({ cpuMs }) => cpuMs)),
      receiptMs: median(warm.map(({ ms }) => ms)),
    }
  }

  let copies = 0
  /** Reads the same rows; signs, compresses, hashes and writes the same documents and the manifest with the same flush. */
  async function sameBytes() {
    const published = realpathSync(join(stateDir, 'public/current'))
    const read = (file: string) => ({ file, bytes: readFileSync(join(published, file)) })
    const manifest = { ...read(MANIFEST_FILE), type: 'application/json', path: '' }
    const documents = manifestSchema
      .parse(JSON.parse(manifest.bytes.toString()))
      .documents.map(({ path, file, content_type: type }) => ({ ...read(file), path, type }))
    const write = async (chosen: typeof documents, others: typeof alone = []) => {
      const copy = localDirectory(join(stateDir, `copy-${(copies += 1)}`))
      for (const file of others) await copy.put(...file)
      await copy.batch(async (put) => {
        for (const { file, bytes, type } of [...chosen, manifest]) {
          keys.signer.sign(bytes)
          const levels = file === MANIFEST_FILE ? ([{ brotli: 1, gzip: 1 }] as const) : []
          const forms = await compress(bytes, type, ...levels)
          const files = forms.map((form) => [encodedFile(file, form.encoding), form.bytes] as const)
          for (const [name, content] of [[file, bytes] as const, ...files]) {
            sha256Hex(content)
            await put(`files/${name}`, content)
          }
        }
      })
    }
    const tables = ['polls', 'evidence', 'rail_state', 'flags', 'events', 'article_views'] as const
    const full = await timed(async () => {
      for (const table of [...tables, 'log_entries', 'log_tiles'] as const) {
        await database.reader.selectFrom(table).selectAll().execute()
      }
      await write(documents, alone)
    })
    const few = documents.filter(({ path }) => changed.includes(path))
    await write(few)
    return { fullCpuMs: full.cpuMs, receiptCpuMs: (await timed(() => write(few))).cpuMs }
  }

  const targets = {
    fullCpuMs: { mostRatio: 1.4 },
    receiptCpuMs: { mostRatio: 1.6 },
    receiptMs: { most: 120 },
  }
  return [
    { what: 'build', ours, peer: ['the same bytes', sameBytes], targets },
    { what: 'full build', ours: () => Promise.resolve(peak), targets: { peakMb: { most: 400 } } },
  ]
}

export const log: Suite = async ({ dir, many, receipts, running }) => {
  const service = await running(startLedger(dir))
  const database = await running(openLedger(dir))
  const { files, written } = recordingDirectory(join(dir, 'public'))
  const signer = await loadLogSigner(join(dir, 'run/keys'), systemRandom)
  const ledgerLog = localLog({ database, files, signer })
  await growLog(database, ledgerLog, 0, receipts)
  /** Fills a tile, so that every width occurs. */
  const added = 256
  let [rounds, copies] = [0, 0]
  const ours = async () => {
    written.length = 0
    const from = receipts + rounds * added
    rounds += 1
    return { cpuMs: (await growLog(database, ledgerLog, from, from + added, 1)) / added }
  }
  const filesAlone = async () => {
    const copy = localDirectory(join(dir, `copy-${(copies += 1)}`))
    const { cpuMs } = await timed(async () => {
      for (const file of written) await copy.put(...file)
    })
    return { cpuMs: cpuMs / added }
  }
  const proof = { path: `${pathOf('listReceipts')}/rcp_${hashOf(0)}/proof` }
  const sides = repeat([service], proof, many(6000), 1)
  const peer = ['its files alone', filesAlone] as const
  return [
    { what: 'one more entry of the log', ours, peer, targets: { cpuMs: { mostRatio: 2 } } },
    { what: 'proof of a receipt', ...sides, targets: { p99Ms: { most: 5 } } },
  ]
}
