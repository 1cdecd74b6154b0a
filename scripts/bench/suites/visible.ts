/** Time from the acknowledgement of a signed receipt to its place in the published list. */
import { setTimeout as sleep } from 'node:timers/promises'

import { atMost, row, rowsOf } from '../rows.ts'
import { percentile } from '../samples.ts'
import type { Sample } from '../samples.ts'
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
    const samples: Sample[] = []
    try {
      // Before the first build the list is read from the database.
      await firstBuild(service)
      const [first = '', ...others] = await signReceipts('visible', 1 + rounds * perRound)
      await visibleAfterMs(url, await post(url, first), performance.now())
      for (let round = 0; round < rounds; round += 1) {
        log(`  round ${round + 1} of ${rounds}`)
        const times: { list: number[]; byId: number[] } = { list: [], byId: [] }
        for (const [at, raw] of others.slice(round * perRound, (round + 1) * perRound).entries()) {
          const id = await post(url, raw)
          const answeredMs = performance.now()
          times.byId.push(await visibleAfterMs(`${url}/${id}`, id, answeredMs))
          times.list.push(await visibleAfterMs(url, id, answeredMs))
          // Spreads the receipts over the time between two builds.
          await sleep((at * 137) % 1000)
        }
        const [list, byId] = [percentile(times.list, 0.95), percentile(times.byId, 0.95)]
        samples.push({ 'list.ms': list, 'by its id.ms': byId })
      }
    } finally {
      await service.stop()
    }
    return {
      rows: rowsOf(samples, [
        row('in the list, p95 after the 201', 'ms', 'list.ms', 'by its id.ms', atMost(700)),
      ]),
      facts: { receipts_per_round: perRound, probe_every_ms: probeEveryMs },
    }
  },
}

async function post(url: string, body: string): Promise<string> {
  const headers = { 'Content-Type': 'application/json' }
  const response = await fetch(url, { method: 'POST', headers, body })
  const id = /rcp_[0-9a-f]{64}/.exec(await response.text())?.[0]
  if (response.status !== 201 || id === undefined) throw new Error(`${response.status}`)
  return id
}

async function visibleAfterMs(url: string, id: string, fromMs: number): Promise<number> {
  while (performance.now() - fromMs < timeoutMs) {
    const response = await fetch(url)
    const text = await response.text()
    if (response.status === 200 && text.includes(id)) return performance.now() - fromMs
    await sleep(probeEveryMs)
  }
  throw new Error(`a receipt is not at ${url} after ${timeoutMs} ms`)
}
