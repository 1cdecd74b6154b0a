/** How long after its answer a signed receipt stands in the published list. */
import { setTimeout as sleep } from 'node:timers/promises'

import { compare } from '../rounds.ts'
import type { Suite } from '../suite.ts'
import { createReceiptMaker } from '../writes/receipts.ts'
import { firstBuild, startWriteService } from '../writes/service.ts'

const listPath = '/api/v1/receipts'
const LOOK_EVERY_MS = 10
const PATIENCE_MS = 60_000

export const visible: Suite = {
  about: 'from the answer of a signed receipt to its snapshot',
  run: async ({ dir, quick, say }) => {
    const { rounds, receipts } = quick ? { rounds: 2, receipts: 8 } : { rounds: 5, receipts: 40 }
    const service = await startWriteService(dir, {})
    const maker = await createReceiptMaker('visible')
    let made = 0

    const post = async (): Promise<string> => {
      made += 1
      const body = maker.make(made, Date.now()).raw
      const headers = { 'Content-Type': 'application/json' }
      const answer = await fetch(`${service.origin}${listPath}`, { method: 'POST', headers, body })
      const id = /rcp_[0-9a-f]{64}/.exec(await answer.text())?.[0]
      if (answer.status !== 201 || id === undefined) throw new Error(`answered ${answer.status}`)
      return id
    }
    const seenAfterMs = async (path: string, id: string, fromMs: number): Promise<number> => {
      while (performance.now() - fromMs < PATIENCE_MS) {
        const answer = await fetch(`${service.origin}${path}`)
        const isThere = (await answer.text()).includes(id)
        if (answer.status === 200 && isThere) return performance.now() - fromMs
        await sleep(LOOK_EVERY_MS)
      }
      throw new Error(`a receipt is not at ${path} after ${PATIENCE_MS} ms`)
    }

    const lists: number[] = []
    const byIds: number[] = []
    try {
      // Before the first build the list is answered from the database.
      await firstBuild(service.origin)
      await seenAfterMs(listPath, await post(), performance.now())
      for (let round = 0; round < rounds; round += 1) {
        say(`  round ${round + 1} of ${rounds}`)
        const [list, byId]: [number[], number[]] = [[], []]
        for (let at = 0; at < receipts; at += 1) {
          const id = await post()
          const answeredMs = performance.now()
          byId.push(await seenAfterMs(`${listPath}/${id}`, id, answeredMs))
          list.push(await seenAfterMs(listPath, id, answeredMs))
          // Anywhere between two builds, not always right after one.
          await sleep((at * 137) % 1000)
        }
        lists.push(percentile95(list))
        byIds.push(percentile95(byId))
      }
    } finally {
      await service.stop()
    }
    return {
      rows: [
        compare({
          what: 'in the snapshot, p95 after the 201',
          unit: 'ms',
          ours: lists,
          peerName: 'by its id',
          peer: byIds,
          target: { of: 'ours', atMost: 2000 },
        }),
      ],
      skipped: [],
      facts: {
        receipts_per_round: receipts,
        looked_every_ms: LOOK_EVERY_MS,
        node: process.version,
      },
    }
  },
}

function percentile95(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  return sorted[Math.ceil(sorted.length * 0.95) - 1] ?? Number.NaN
}
