import { ratioAtLeast, row, rowsOf } from '../rows.ts'
import { interleave } from '../samples.ts'
import { runTask } from '../start-task.ts'
import type { Suite } from '../suite.ts'

const contestants = ['eip191', 'viem', 'ed25519', 'noble'] as const

export const verify: Suite = {
  about: 'checks of EIP-191 against viem and of ed25519 against noble',
  run: async ({ quick }) => {
    const [rounds, warm, count] = quick ? [3, 150, 300] : [7, 500, 3000]
    const measures = contestants.map(
      (name) => [name, () => runTask('check-signatures', name, warm, count)] as const,
    )
    const samples = await interleave(rounds, Object.fromEntries(measures))
    return {
      rows: rowsOf(samples, [
        row('EIP-191', '1/s', 'eip191.perSecond', 'viem.perSecond', ratioAtLeast(9)),
        row('EIP-191, CPU', 'us', 'eip191.cpuUs', 'viem.cpuUs'),
        row('ed25519', '1/s', 'ed25519.perSecond', 'noble.perSecond', ratioAtLeast(10)),
        row('ed25519, CPU', 'us', 'ed25519.cpuUs', 'noble.cpuUs'),
      ]),
      facts: { checks_per_round: count },
    }
  },
}
