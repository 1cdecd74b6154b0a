import { expect, test } from 'vitest'

import { nearest } from '../../src/core/nearest.ts'

const names = ['x402', 'x402_base', 'olas', 'poidh', 'execution_market']

test.each([
  ['x_402', ['x402', 'x402_base']],
  ['pohdi', ['poidh']],
  ['Execution-Market', ['execution_market']],
  ['market', ['execution_market']],
  ['ol', []],
  ['oles', ['olas']],
  ['ales', []],
  ['nothing-like-it', []],
])('the names nearest to %j are %j', (word, wanted) => {
  expect(nearest(word, names)).toEqual(wanted)
})
