/** Time from the acknowledgement of a signed receipt to its place in the published list. */
import { setTimeout as sleep } from 'node:timers/promises'

import { percentile, row, rowsOf } from '../rows.ts'
import type { Sample } from '../rows.ts'
import { firstBuild, receiptsPath, startPlatformService } from '../service.ts'
import { signReceipts } from '../signed-receipts.ts'
import type { Suite } from '../suite.ts'

const probeEveryMs = 10
const timeoutMs = 60_000

export const visible: Suite = {
  about: 'from the acknowledgement of a signed receipt to its snapshot',
  run: async ({ dir, quick, log }) => {
    const [rounds, perRound] = quick ? [2, 8] : [5, 40]
    const service = await startPlatformService(dir, { builder: true })
    const url = `${service.origin}${receiptsPath}`
    const post = async (body: string): Promise<string> => {
      const headers = { 'Content-Type': 'application/json' }
      const response = await fetch(url, { method: 'POST', headers, body })
      const id = /rcp_[0-9a-f]{64}/.exec(await response.text())?.[0]
      if (response.status !== 201 || id === undefined) throw new Error(`${response.status}`)
      return id
    }
    const visibleAfterMs = async (at: string, id: string, fromMs: number): Promise<number> => {
      while (performance.now() - fromMs < timeoutMs) {
        const response = await fetch(at)
        const text = await response.text()
        if (response.status === 200 && text.includes(id)) return performance.now() - fromMs
        await sleep(probeEveryMs)
      }
      throw new Error(`a receipt is not at ${at} after ${timeoutMs} ms`)
    }
    const samples: Sample[] = []
    try {
      // Before the first build the list is read from the database.
      await firstBuild(service)
      const [first, ...others] = await signReceipts('visible', 1 + rounds * perRound)
      await visibleAfterMs(url, await post(first?.raw ?? ''), performance.now())
      for (let round = 0; round < rounds; round += 1) {
        log(`  round ${round + 1} of ${rounds}`)
        const times: { list: number[]; byId: number[] } = { list: [], byId: [] }
        const receipts = others.slice(round * perRound, (round + 1) * perRound)
        for (const [at, { raw }] of receipts.entries()) {
          const id = await post(raw)
          const answeredMs = performance.now()
          times.byId.push(await visibleAfterMs(`${url}/${id}`, id, answeredMs))
          times.list.push(await visibleAfterMs(url, id, answeredMs))
          // Spreads the receipts over the time between two builds.
          await sleep((at * 137) % 1000)
        }
        samples.push({ ms: percentile(times.list, 0.95), byIdMs: percentile(times.byId, 0.95) })
      }
    } finally {
      await service.stop()
    }
    return {
      rows: rowsOf(samples, { name: 'by its id', samples, figure: 'byIdMs' }, [
        row('in the snapshot, p95 after the 201', 'ms', 'ms', {
          target: { of: 'ours', atMost: 2000 },
        }),
      ]),
      skipped: [],
      facts: { receipts_per_round: perRound, probe_every_ms: probeEveryMs },
    }
  },
}
