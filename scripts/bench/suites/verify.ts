import { runTask } from '../processes.ts'
import { interleave, rowsOf } from '../rows.ts'
import type { Row, Suite, Target } from '../suite.ts'

const target: Target = { of: 'ratio', atLeast: 8 }
const contests = [
  { ours: 'eip191', what: 'EIP-191', peer: 'viem', aim: { target } },
  { ours: 'ed25519', what: 'ed25519', peer: 'noble', aim: {} },
] as const

export const verify: Suite = {
  about: 'checks of EIP-191 against viem and of ed25519 against noble',
  run: async ({ quick, log }) => {
    const [rounds, warm, count] = quick ? [3, 150, 300] : [7, 500, 3000]
    const rows: Row[] = []
    for (const { ours, what, peer, aim } of contests) {
      log(`  ${what}`)
      const measure = (who: string) => () => runTask('check-signatures', who, warm, count)
      const samples = await interleave(rounds, { ours: measure(ours), peer: measure(peer) })
      const row = { what: `${what}, one process`, unit: '1/s', figure: 'perSecond' }
      const also = { 'cpu us/check': 'cpuUs' }
      const side = { name: peer, samples: samples('peer') }
      rows.push(...rowsOf(samples('ours'), side, [{ ...row, ...aim, also }]))
    }
    return { rows, skipped: [], facts: { checks_per_round: count } }
  },
}
