import { test } from 'vitest'

import { expectCoverage, runShard } from './shard.ts'

test('the ledger follows its rules under any order of events and faults (even seeds)', async () => {
  expectCoverage(await runShard(0))
})
