import fc from 'fast-check'
import { expect, test } from 'vitest'

import { skeletonOf } from '../../src/core/look-alike.ts'

test.each([
  ['PayPal', 'РауРаӏ'],
  ['Ledger Bot', 'ledger-bot'],
  ['Ledger', 'Ӏedger'],
  ['modern', 'modem'],
  ['Illusion', '1llusi0n'],
  ['Zoë', 'Zoe'],
  ['worker', 'ｗｏｒｋｅｒ'],
  ['Vera', 'VERA '],
  ['Scope', 'Ѕсоре'],
  ['Nova', 'Νονα'],
])('%s and %s look alike', (one, other) => {
  expect(skeletonOf(other)).toBe(skeletonOf(one))
})

test.each([
  ['Anna', 'Hanna'],
  ['North', 'South'],
  ['Иван', 'Петр'],
  ['team 2', 'team 3'],
  ['日本', '中国'],
])('%s and %s do not look alike', (one, other) => {
  expect(skeletonOf(other)).not.toBe(skeletonOf(one))
})

test('a name of emoji has no skeleton', () => {
  expect(skeletonOf('🙂🙂')).toBeNull()
})

test('skeletonOf is idempotent', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), (name) => {
      const once = skeletonOf(name)
      if (once === null || /rn|vv|cl/.test(once)) return
      expect(skeletonOf(once)).toBe(once)
    }),
  )
})
