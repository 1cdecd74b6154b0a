import { test } from 'vitest'

import { expectMuch, runLane } from './lane.ts'

test('whatever the order of events and whatever fails, the ledger is what the model says (even seeds)', async () => {
  expectMuch(await runLane(0))
})
