/** From the answer to a signed receipt to the published list that contains it, while service and builder run. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { openConnection, requestText } from '../../../test/support/keep-alive.ts'
import { fillLedger } from '../../../test/support/large-ledger.ts'
import { percentile } from '../../../test/support/percentile.ts'
import type { Sample, Suite } from '../bench.ts'
import { databaseIn, startService } from '../processes.ts'
import { listPlatform, receiptsPath, signReceipts } from '../receipts.ts'

const probeEveryMs = 10
const timeoutMs = 60_000
const list = requestText({ path: receiptsPath })

export const visible: Suite = {
  about: 'from the 201 of a signed receipt to its snapshot document',
  prepare: async ({ dir, quick, running }) => {
    await fillLedger(databaseIn(dir), quick ? 1000 : 100_000)
    const env = { ...listPlatform(join(dir, 'run')), BUILDER: 'embedded' }
    // Before the first build the service reads the list from the database.
    const { address } = await running(startService(dir, { env, readyPath: '/snapshot.json' }))
    const { send } = await openConnection(address)
    let runs = 0
    const add = async (receipts: number): Promise<Sample> => {
      runs += 1
      const times: number[] = []
      for (const request of await signReceipts(`run ${runs}`, receipts)) {
        const { status, text } = await send(request)
        const startedMs = performance.now()
        const id = /rcp_[0-9a-f]{64}/.exec(text)?.[0]
        if (status !== 201 || id === undefined) throw new Error(`refused: ${text}`)
        while (!(await send(list)).text.includes(id)) {
          if (performance.now() - startedMs > timeoutMs) throw new Error(`${id} is not listed`)
          await sleep(probeEveryMs)
        }
        times.push(performance.now() - startedMs)
        // Spreads the receipts over the time between two builds.
        await sleep((times.length * 137) % 1000)
      }
      return { medianMs: percentile(times, 0.5), p95Ms: percentile(times, 0.95) }
    }
    await add(3)
    return [
      {
        what: 'signed receipt in its document',
        ours: () => add(quick ? 8 : 20),
        figures: { medianMs: {}, p95Ms: { most: 700 } },
      },
    ]
  },
}
