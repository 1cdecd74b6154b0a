import { test } from 'vitest'

import { expectCoverage, runShard } from './shard.ts'

test('under any order of events and faults the ledger matches the model (even seeds)', async () => {
  expectCoverage(await runShard(0))
})
