/** Checks of signatures, against the libraries that people would take for them. */
import { z } from 'zod'

import { runWorker } from '../processes.ts'
import { alongside, compare, interleave } from '../rounds.ts'
import type { Row, Suite } from '../suite.ts'

const script = new URL('../verify/verify-worker.js', import.meta.url)
const workerResult = z.object({ perSecond: z.number(), cpuUs: z.number() })

const contests = [
  { scheme: 'eip191', what: 'EIP-191', peer: 'viem', target: { of: 'ratio', atLeast: 8 } },
  { scheme: 'ed25519', what: 'ed25519', peer: 'noble', target: null },
] as const

export const verify: Suite = {
  about: 'checks of EIP-191 against viem and of ed25519 against noble',
  run: async ({ quick, say }) => {
    const { rounds, warm, count } = quick
      ? { rounds: 3, warm: 150, count: 300 }
      : { rounds: 7, warm: 500, count: 3000 }
    const rows: Row[] = []
    for (const { scheme, what, peer, target } of contests) {
      say(`  ${what}`)
      const measure = (who: string) => async () =>
        workerResult.parse(
          await runWorker(script, [`${scheme} ${who}`, String(warm), String(count)]),
        )
      const samples = await interleave(
        [
          { name: 'service', measure: measure('service') },
          { name: peer, measure: measure(peer) },
        ],
        rounds,
      )
      const of = (name: string) => samples.get(name) ?? []
      rows.push(
        compare({
          what: `${what}, one process`,
          unit: '1/s',
          ours: of('service').map(({ perSecond }) => perSecond),
          peerName: peer,
          peer: of(peer).map(({ perSecond }) => perSecond),
          ...(target === null ? {} : { target }),
          also: alongside(
            'cpu us/check',
            of('service').map(({ cpuUs }) => cpuUs),
            of(peer).map(({ cpuUs }) => cpuUs),
          ),
        }),
      )
    }
    return { rows, skipped: [], facts: { checks_per_round: count, node: process.version } }
  },
}
