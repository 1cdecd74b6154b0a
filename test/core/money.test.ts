import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { microFromBaseUnits, parseUsdc, toUsdc } from '../../src/core/money.ts'

describe('USDC amounts', () => {
  it.each([
    [0, 0],
    ['0', 0],
    [1, 1_000_000],
    ['0.000001', 1],
    [0.000001, 1],
    [1e-6, 1],
    ['1000000000', 1e15],
    [1_000_000_000, 1e15],
    [12.345678, 12_345_678],
  ])('%s USDC is %s micro-USDC', (amount, micro) => {
    expect(parseUsdc(amount)).toBe(micro)
  })

  it('USDC amounts with too many digits, a sign, an exponent or another form are refused, not rounded', () => {
    const numbers = [0.0000001, 1.0000001, 1_000_000_001, -1, Number.NaN, Number.POSITIVE_INFINITY]
    const precise = ['0.0000001', '1000000000.000001']
    const otherForms = ['-1', '+1', '01', '1.', '.5', '1e3', ' 1', '', 'NaN', '0x10', '1,5']
    for (const amount of [...numbers, ...precise, ...otherForms]) {
      expect([amount, parseUsdc(amount)]).toEqual([amount, null])
    }
  })

  it('USDC amounts round-trip through the wire form', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e15 }), (micro) => {
        expect(parseUsdc(toUsdc(micro))).toBe(micro)
      }),
    )
  })

  it('USDC amounts are computed from token base units without floating point', () => {
    expect(microFromBaseUnits(1_500_000_000_000_000_000n, 18)).toBe(1_500_000)
    expect(microFromBaseUnits(999_999_999_999n, 18)).toBe(0)
    expect(microFromBaseUnits(7n, 6)).toBe(7)
    expect(microFromBaseUnits(7n, 2)).toBe(70_000)
    expect(microFromBaseUnits(2n ** 80n, 6)).toBeNull()
    expect(microFromBaseUnits(-1n, 6)).toBeNull()
  })
})
