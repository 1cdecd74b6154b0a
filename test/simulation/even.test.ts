import { test } from 'vitest'

import { runShard } from './shard.ts'

test('the ledger follows its rules under any order of events and faults (even seeds)', async () => {
  await runShard(0)
})
