/** The limiter with a million addresses, against a Map of token buckets. */
import { z } from 'zod'

import { runWorker } from '../processes.ts'
import { compare, interleave } from '../rounds.ts'
import type { Suite } from '../suite.ts'

const ADDRESSES = 1_000_000
const peerName = 'Map of buckets'
const script = new URL('../limiter/limiter-worker.js', import.meta.url)
const workerResult = z.object({ heldMb: z.number(), firstNs: z.number(), againNs: z.number() })

export const limiter: Suite = {
  about: `memory and time of the limits with ${ADDRESSES} addresses, against a Map of token buckets`,
  run: async ({ quick }) => {
    const checks = quick ? 300_000 : 3_000_000
    const measure = (who: string) => async () =>
      workerResult.parse(await runWorker(script, [who, String(ADDRESSES), String(checks)]))
    const samples = await interleave(
      [
        { name: 'service', measure: measure('service') },
        { name: peerName, measure: measure('map') },
      ],
      quick ? 2 : 7,
    )
    const row = (what: string, unit: string, of: keyof z.infer<typeof workerResult>) => ({
      what,
      unit,
      ours: (samples.get('service') ?? []).map((sample) => sample[of]),
      peerName,
      peer: (samples.get(peerName) ?? []).map((sample) => sample[of]),
    })
    return {
      rows: [
        compare({ ...row('memory held', 'MB', 'heldMb'), target: { of: 'ratio', atMost: 0.5 } }),
        compare(row('first request of an address, CPU', 'ns', 'firstNs')),
        compare(row('any later one, CPU', 'ns', 'againNs')),
      ],
      skipped: [],
      facts: { addresses: ADDRESSES, later_checks: checks, node: process.version },
    }
  },
}
