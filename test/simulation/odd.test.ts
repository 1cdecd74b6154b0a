import { test } from 'vitest'

import { expectMuch, runLane } from './lane.ts'

test('whatever the order of events and whatever fails, the ledger is what the model says (odd seeds)', async () => {
  expectMuch(await runLane(1))
})
