import { test } from 'vitest'

import { expectCoverage, runShard } from './shard.ts'

test('the ledger follows its rules under any order of events and faults (odd seeds)', async () => {
  expectCoverage(await runShard(1))
})
