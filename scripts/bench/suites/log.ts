/** One more receipt in a log of a million entries, against its files alone, and proofs against bare node:http. */
import { join } from 'node:path'

import { createLedgerLog } from '../../../builder/log/log.ts'
import { append } from '../../../builder/log/sequence.ts'
import { createDirectory } from '../../../builder/publish/store/directory.ts'
import { sha256Hex } from '../../../src/auth/messages.ts'
import { loadLogSigner } from '../../../src/auth/notes.ts'
import type { NoteSigner } from '../../../src/auth/notes.ts'
import { checkpointText } from '../../../src/core/tlog/checkpoint.ts'
import { formatNote } from '../../../src/core/tlog/note.ts'
import { checkpointHeaders, logPath } from '../../../src/core/tlog/paths.ts'
import { putCheckpoint, queueEntries } from '../../../src/db/log.ts'
import { openDatabase } from '../../../src/db/open.ts'
import type { OpenDatabase } from '../../../src/db/open.ts'
import { systemClock, systemRandom } from '../../../src/runtime/runtime.ts'
import { startNodeServer } from '../../../test/support/server-process.ts'
import { silentLog } from '../../demo/polls.ts'
import { makeLedger, manyReceipts, receiptIdOf, workersCount } from '../ledger.ts'
import { createReader } from '../reader.ts'
import { atMost, ratioAtMost, row, rowsOf } from '../rows.ts'
import { interleave, percentile } from '../samples.ts'
import { databasePathIn, startService } from '../service.ts'
import { benchProgram } from '../start-task.ts'
import type { Suite } from '../suite.ts'
import { timed } from '../task.ts'

const rawScript = benchProgram('peers/raw-http')
/** Fill one tile with their two entries each, so that every width of the last tile is measured. */
const receiptsOfTile = 128
const together = 1000
const receiptsAtOnce = 25_600

export const log: Suite = {
  about: 'one more receipt in a log of a million entries, and proofs from it',
  run: async ({ dir, quick }) => {
    const [rounds, reads] = quick ? [2, 500] : [7, 2000]
    const receipts = manyReceipts(quick) / 2
    await makeLedger(databasePathIn(dir), receipts)
    const database = await openDatabase({ url: databasePathIn(dir) })
    const signer = await loadLogSigner(join(dir, 'run/keys'), systemRandom)
    const note = await fillLog(database, signer, receipts)
    const published = createDirectory({
      publicDir: join(dir, 'public'),
      fence: 1,
      check: () => Promise.resolve(),
    })
    await published.put(logPath('checkpoint'), Buffer.from(note), checkpointHeaders)
    let written: [key: string, body: Uint8Array, headers: Record<string, string>][] = []
    const files = {
      ...published,
      put: (...file: (typeof written)[number]) => {
        written.push(file)
        return published.put(...file)
      },
    }
    const ledgerLog = createLedgerLog({
      database,
      files,
      signer,
      clock: systemClock,
      log: silentLog,
      askSizes: () => Promise.resolve([]),
    })
    await ledgerLog.grow()
    let next = receipts + 1
    const add = async (count: number): Promise<number> => {
      const entries = Array.from({ length: count }, (_, at) => entriesOf(next + at)).flat()
      next += count
      // In the transaction of the receipts, which the suite `writes` measures.
      await database.write((tx) => queueEntries(tx, entries))
      return (await timed(() => ledgerLog.grow())).cpuMs
    }
    const builder = async () => {
      let [cpuMs, kb, mostKb] = [0, 0, 0]
      for (let at = 0; at < receiptsOfTile; at += 1) {
        const before = written.length
        cpuMs += (await add(1)) / receiptsOfTile
        const added = written.slice(before).reduce((sum, [, { length }]) => sum + length / 1000, 0)
        kb += added / receiptsOfTile
        mostKb = Math.max(mostKb, added)
      }
      const ofOne = written
      const cpuMsTogether = (await add(together)) / together
      written = ofOne
      return { cpuMs, kb, mostKb, files: written.length / receiptsOfTile, cpuMsTogether }
    }
    let copies = 0
    const filesAlone = async () => {
      copies += 1
      const copy = createDirectory({
        publicDir: join(dir, `copy ${copies}`),
        fence: 1,
        check: () => Promise.resolve(),
      })
      const { cpuMs } = await timed(async () => {
        for (const file of written) await copy.put(...file)
      })
      return { cpuMs: cpuMs / receiptsOfTile }
    }
    const costs = await interleave(rounds, {
      builder: async () => {
        written = []
        return await builder()
      },
      'files alone': filesAlone,
    })
    await database.close()

    const pathOf = (i: number) => `/api/v1/receipts/${receiptIdOf(i)}/proof`
    const service = await startService(dir)
    const paths = Array.from({ length: 100 }, (_, at) => pathOf(1 + at))
    const args = [service.origin, ...paths]
    const raw = await startNodeServer(rawScript, { args, readyPath: pathOf(1) })
    const read = (origin: string, from: number) => async () => {
      const reader = createReader()
      const times: number[] = []
      for (let at = 0; at < reads; at += 1) {
        const url = origin + pathOf(1 + Math.floor(Math.random() * from))
        times.push((await reader.read({ url })).ms)
      }
      reader.close()
      return { p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99) }
    }
    try {
      const readers = {
        service: read(service.origin, receipts),
        'node:http': read(raw.origin, paths.length),
      }
      await interleave(1, readers)
      const proofs = await interleave(rounds, readers)
      const peer = 'files alone.cpuMs'
      return {
        rows: [
          ...rowsOf(costs, [
            row('one more receipt, CPU', 'ms', 'builder.cpuMs', peer, ratioAtMost(2)),
            row('one of 1,000 receipts, CPU', 'ms', 'builder.cpuMsTogether', peer),
            row('files of a receipt, most', 'KB', 'builder.mostKb', 'builder.kb', atMost(100)),
          ]),
          ...rowsOf(proofs, [
            row('proof, p99', 'ms', 'service.p99Ms', 'node:http.p99Ms', atMost(5)),
            row('proof, p50', 'ms', 'service.p50Ms', 'node:http.p50Ms'),
          ]),
        ],
        facts: { entries: receipts * 2, files_of_a_receipt: costs[0]?.['builder.files'] ?? 0 },
      }
    } finally {
      await raw.stop()
      await service.stop()
    }
  },
}

/** What a receipt adds to the log: itself and its entry of the reputation ledger. */
function entriesOf(i: number) {
  const sha256 = sha256Hex(`receipt ${i}`)
  const reputation = sha256Hex(`entry ${i}`)
  const subject = `0x${(i % workersCount).toString(16).padStart(40, '0')}`
  return [
    { kind: 'receipt', id: receiptIdOf(i), sha256 },
    { kind: 'reputation', id: reputation, sha256: reputation, subject },
  ] as const
}

/** Gives the entries of all receipts their places. Returns the signed checkpoint. */
async function fillLog(
  { write }: OpenDatabase,
  signer: NoteSigner,
  receipts: number,
): Promise<string> {
  const common = { v: 1, at: '2026-01-01T00:00:00.000Z' } as const
  let root: Uint8Array = new Uint8Array()
  for (let from = 0; from < receipts; from += receiptsAtOnce) {
    const count = Math.min(receiptsAtOnce, receipts - from)
    const entries = Array.from({ length: count }, (_, at) => {
      const [receipt, reputation] = entriesOf(1 + from + at)
      const before = from + at - workersCount
      const prev = before < 0 ? null : 2 * before + 1
      return [
        { ...common, ...receipt },
        { ...common, ...reputation, prev },
      ]
    })
    root = await write((tx) => append(tx, 2 * from, entries.flat()))
  }
  const text = checkpointText({ origin: signer.key.name, size: 2 * receipts, root })
  const note = formatNote({ text, signatures: [signer.sign(text)] })
  await write((tx) => putCheckpoint(tx, 'signed', { size: 2 * receipts, note }))
  return note
}
