import { test } from 'vitest'

import { expectCoverage, runShard } from './shard.ts'

test('whatever the order of events and whatever fails, the ledger is what the model says (odd seeds)', async () => {
  expectCoverage(await runShard(1))
})
