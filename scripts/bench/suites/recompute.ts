/** Recomputing a poll of x402 from its evidence, against downloading the evidence and hashing its lines. */
import { mkdirSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'

import { openDatabase } from '../../../src/db/open.ts'
import type { Suite } from '../bench.ts'
import { paymentsOf, pollAt } from '../polls.ts'
import { buildOnce, databaseIn, programOf, runProgram, startService } from '../processes.ts'

export const recompute: Suite = {
  about: 'a window of x402 from its evidence, against hashing its lines',
  prepare: async ({ dir, quick, running }) => {
    mkdirSync(dirname(databaseIn(dir)))
    const database = await openDatabase({ url: databaseIn(dir) })
    const lines = quick ? 20_000 : 100_000
    const nowMs = Date.now()
    await pollAt(database, [nowMs], paymentsOf(nowMs, lines))
    await database.close()
    buildOnce(dir)
    const { origin } = await running(startService(dir))
    const ledger = ['--ledger', origin, '--allow-unchecked']
    const ours = [programOf('scripts/cli/main.js'), 'recompute', 'x402', ...ledger]
    const files = readdirSync(join(dir, 'public/evidence')).filter((name) => name.endsWith('.json'))
    const peer = [programOf('scripts/bench/peers/hash.js'), `${origin}/evidence`, ...files]
    return [
      {
        what: `recompute, ${lines.toLocaleString('en-US')} lines`,
        ours: () => runProgram(ours),
        peer: ['read and hash', () => runProgram(peer)],
        figures: { ms: { mostRatio: 3 } },
      },
    ]
  },
}
