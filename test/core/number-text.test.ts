import { expect, test } from 'vitest'

import { counted, grouped, numbered } from '../../src/core/number-text.ts'

test.each([
  ['0', '0'],
  ['999', '999'],
  ['1000', '1,000'],
  ['1234567', '1,234,567'],
  ['1204.50', '1,204.50'],
  ['999.123456', '999.123456'],
  ['-1234', '-1,234'],
])('grouped puts the whole digits of %s into groups of three: %s', (digits, text) => {
  expect(grouped(digits)).toBe(text)
})

test('counted and numbered use the singular for one only', () => {
  const counts = [0, 1, 2, 1000].map((count) => counted(count, 'rail'))
  expect(counts).toEqual(['0 rails', '1 rail', '2 rails', '1,000 rails'])
  const numbers = [0, 1, 1000].map((count) => numbered(count, 'document'))
  expect(numbers).toEqual(['0 documents', '1 document', '1000 documents'])
})
