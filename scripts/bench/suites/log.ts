/** Adding entries to the log, against writing their files alone, and verifying them, against hashing them. */
import { join } from 'node:path'

import { createLedgerLog } from '../../../builder/log/log.ts'
import { createDirectory } from '../../../builder/publish/store/directory.ts'
import { sha256Hex } from '../../../src/auth/messages.ts'
import { loadLogSigner } from '../../../src/auth/notes.ts'
import { queueEntries } from '../../../src/db/log.ts'
import { openDatabase } from '../../../src/db/open.ts'
import { systemClock, systemRandom } from '../../../src/runtime/runtime.ts'
import { quietLog } from '../../../test/support/quiet-log.ts'
import type { Sample, Suite } from '../bench.ts'
import { databaseIn, programOf, repeat, runProgram, startService, timed } from '../processes.ts'
import { receiptsPath } from '../receipts.ts'

const workersCount = 10_000
const together = 1000
/** Two entries each, so that every tile width occurs. */
const alone = 128

export const log: Suite = {
  about: 'receipts that are added to a long log, and its verification',
  prepare: async ({ dir, quick, running }) => {
    const service = await running(startService(dir))
    const database = await openDatabase({ url: databaseIn(dir) })
    await running(Promise.resolve({ stop: () => database.close() }))
    const [check, askSizes] = [() => Promise.resolve(), () => Promise.resolve([])]
    const directory = (name: string) =>
      createDirectory({ publicDir: join(dir, name), fence: 1, check })
    const published = directory('public')
    let written: Parameters<typeof published.put>[] = []
    const put = (...file: (typeof written)[number]) => {
      written.push(file)
      return published.put(...file)
    }
    const files = { ...published, put }
    const signer = await loadLogSigner(join(dir, 'run/keys'), systemRandom)
    const deps = { database, files, signer, clock: systemClock, log: quietLog, askSizes }
    const ledgerLog = createLedgerLog(deps)

    let receipts = 0
    /** Returns the CPU time per receipt for sequencing and publishing its entries. */
    const add = async (count: number): Promise<number> => {
      const entries = Array.from({ length: count }, (_, at) => entriesOf(receipts + at)).flat()
      receipts += count
      // The suite `writes` measures this part of the transaction.
      await database.write((tx) => queueEntries(tx, entries))
      return (await timed(() => ledgerLog.grow())).cpuMs / count
    }
    const addReceipts = async (): Promise<Sample> => {
      const togetherCpuMs = await add(together)
      written = []
      let [cpuMs, kb] = [0, 0]
      for (let at = 0; at < alone; at += 1) cpuMs += (await add(1)) / alone
      for (const [, { length }] of written) kb += length / 1000 / alone
      return { cpuMs, kb, togetherCpuMs }
    }
    let copies = 0
    const filesAlone = async (): Promise<Sample> => {
      copies += 1
      const copy = directory(`copy ${copies}`)
      const { cpuMs } = await timed(async () => {
        for (const file of written) await copy.put(...file)
      })
      return { cpuMs: cpuMs / alone }
    }
    for (let at = 0; at < (quick ? 50 : 500); at += 1) await add(together)
    const url = `${service.origin}/log`
    const verify = [programOf('scripts/cli/main.js'), 'log', 'verify', '--log-url', url]
    const proof = { path: `${receiptsPath}/rcp_${sha256Hex('receipt 0')}/proof` }
    const hash = [programOf('scripts/bench/peers/hash.js'), url]
    return [
      {
        what: 'one more receipt',
        ours: addReceipts,
        peer: ['its files alone', filesAlone],
        figures: { cpuMs: { mostRatio: 2 }, kb: { most: 100 }, togetherCpuMs: {} },
      },
      {
        what: `log verify, ${(receipts * 2).toLocaleString('en-US')} entries`,
        ours: () => runProgram(verify),
        peer: ['download and hash', () => runProgram(hash)],
        figures: { ms: {} },
      },
      {
        what: 'proof of a receipt',
        ours: repeat(proof, quick ? [200, 1000] : [1000, 5000], 1)(service),
        figures: { p99Ms: { most: 5 }, cpuUs: {} },
      },
    ]
  },
}

/** Entries of a receipt in the log: itself and its entry of the reputation ledger. */
function entriesOf(number: number) {
  const [sha256, reputation] = [sha256Hex(`receipt ${number}`), sha256Hex(`entry ${number}`)]
  const subject = `0x${(number % workersCount).toString(16).padStart(40, '0')}`
  return [
    { kind: 'receipt', id: `rcp_${sha256}`, sha256 },
    { kind: 'reputation', id: reputation, sha256: reputation, subject },
  ] as const
}
