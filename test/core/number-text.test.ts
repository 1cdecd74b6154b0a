import { expect, test } from 'vitest'

import { counted, grouped, numbered } from '../../src/core/number-text.ts'

test('grouped puts whole digits into groups of three and keeps the fraction', () => {
  expect(['0', '999', '1000', '1234567', '1204.50', '999.123456', '-1234'].map(grouped)).toEqual([
    '0',
    '999',
    '1,000',
    '1,234,567',
    '1,204.50',
    '999.123456',
    '-1,234',
  ])
})

test('counted uses the singular for one only', () => {
  expect([0, 1, 2, 1000].map((count) => counted(count, 'rail'))).toEqual([
    '0 rails',
    '1 rail',
    '2 rails',
    '1,000 rails',
  ])
  expect([0, 1, 1000].map((count) => numbered(count, 'document'))).toEqual([
    '0 documents',
    '1 document',
    '1000 documents',
  ])
})
