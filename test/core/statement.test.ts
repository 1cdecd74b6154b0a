import { concat, encodeAbiParameters, keccak256, parseAbiParameters } from 'viem'
import type { Hex } from 'viem'
import { describe, expect, test } from 'vitest'

import {
  checkStatement,
  firstOpenMonth,
  makeStatement,
  monthEnd,
} from '../../src/core/statement.ts'
import type { IncomeReceipt, IncomeStatement } from '../../src/core/statement.ts'

const worker = '0x52908400098527886E0F7030069857D2E4169EE7'
const token = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
const payer = '0x8617E340B3D01FA5F11F306F4090FD50E238070D'

function row(
  nth: number,
  verdict: IncomeReceipt['verdict'] = 'on_chain',
  changes: Partial<IncomeReceipt> = {},
) {
  const tx_hash = keccak256(`0x${nth.toString(16).padStart(2, '0')}`)
  const leaf = {
    chain_id: 8453,
    token,
    from: payer,
    to: worker.toLowerCase(),
    amount_micro_usdc: nth * 100_000,
    block_time: 1_790_000_000 + nth,
    tx_hash,
    log_index: nth,
  }
  return {
    receipt_id: `rcp_${nth}`,
    occurred_at: '2026-10-03T00:00:00.000Z',
    rail: 'x402',
    verdict,
    amount_usdc: nth / 10,
    tx_hash,
    ...(verdict === 'on_chain' ? { leaf } : {}),
    ...changes,
  } satisfies IncomeReceipt
}

function statement(
  receipts: IncomeReceipt[],
  more: { readonly again?: IncomeReceipt[]; readonly earlier?: IncomeStatement[] } = {},
) {
  const facts = { wallet: worker, month: '2026-10', previous: null, receipts }
  const { again = [], earlier = [] } = more
  return makeStatement({ ...facts, closed_at: '2026-11-16T00:00:00.000Z' }, again, earlier)
}

/** By viem, from the description alone. */
function rootByViem(rows: readonly IncomeReceipt[]): Hex {
  let level = rows.flatMap(({ leaf }) => {
    if (leaf === undefined) return []
    const types = parseAbiParameters(
      'uint256, address, address, address, uint256, uint64, bytes32, uint32',
    )
    const values = [
      BigInt(leaf.chain_id),
      token,
      payer,
      worker,
      BigInt(leaf.amount_micro_usdc),
      BigInt(leaf.block_time),
      keccak256(`0x${leaf.log_index.toString(16).padStart(2, '0')}`),
      leaf.log_index,
    ] as const
    return keccak256(keccak256(encodeAbiParameters(types, values)))
  })
  if (level.length === 0) return `0x${'00'.repeat(32)}`
  while (level.length > 1) {
    const above: Hex[] = []
    for (let at = 0; at < level.length; at += 2) {
      const pair = level.slice(at, at + 2)
      above.push(pair.length === 2 ? keccak256(concat(pair.toSorted())) : (pair[0] ?? '0x'))
    }
    level = above
  }
  return level[0] ?? '0x'
}

test.each([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 17])(
  'viem computes the same Merkle root of %i confirmed receipts',
  (count) => {
    const rows = Array.from({ length: count }, (_, at) => row(at + 1))
    const { merkle } = statement([row(40, 'claimed'), ...rows, row(41, 'linked')])
    expect(merkle).toMatchObject({ root: rootByViem(rows), leaves: count })
  },
)

test('the total has only confirmed receipts of others; all others are counted apart', () => {
  const { total_usdc, running_total_usdc, by_verdict } = statement([
    row(1),
    row(2),
    row(3, 'linked'),
    row(4, 'attested'),
    row(5, 'agreed'),
    row(6, 'claimed'),
    row(7, 'rejected'),
  ])
  expect({ total_usdc, running_total_usdc }).toEqual({ total_usdc: 0.3, running_total_usdc: 0.3 })
  expect(by_verdict).toEqual([
    { verdict: 'on_chain', receipts: 2, amount_usdc: 0.3 },
    { verdict: 'linked', receipts: 1, amount_usdc: 0.3 },
    { verdict: 'attested', receipts: 1, amount_usdc: 0.4 },
    { verdict: 'agreed', receipts: 1, amount_usdc: 0.5 },
    { verdict: 'signed_by_the_seller', receipts: 0, amount_usdc: 0 },
    { verdict: 'claimed', receipts: 1, amount_usdc: 0.6 },
    { verdict: 'reversed', receipts: 0, amount_usdc: 0 },
    { verdict: 'rejected', receipts: 1, amount_usdc: 0.7 },
  ])
})

describe('corrections', () => {
  const first = statement([row(1), row(2), row(3, 'attested')])

  test('a reversal is one line of the next statement, and lowers the running total once', () => {
    const again = [row(1), row(2, 'reversed'), row(3, 'attested')]
    const second = statement([row(5)], { earlier: [first], again })
    expect(second).toMatchObject({
      total_usdc: 0.5,
      corrections_usdc: -0.2,
      running_total_usdc: 0.6,
    })
    expect(second.corrections).toEqual([
      expect.objectContaining({
        receipt_id: 'rcp_2',
        month: '2026-10',
        was: 'on_chain',
        is: 'reversed',
      }),
    ])
    const third = statement([row(6)], { earlier: [first, second], again: [...again, row(5)] })
    expect(third).toMatchObject({ corrections: [], running_total_usdc: 1.2 })
  })

  test('a changed amount is a line with the amount before', () => {
    const again = [row(1, 'on_chain', { amount_usdc: 0.4 }), row(2), row(3, 'attested')]
    const second = statement([row(5)], { earlier: [first], again })
    expect(second.corrections).toMatchObject([
      { receipt_id: 'rcp_1', amount_usdc: 0.4, was_amount_usdc: 0.1, change_usdc: 0.3 },
    ])
    const reversed = [row(1, 'rejected', { amount_usdc: 0.4 }), row(2), row(3, 'attested')]
    const third = statement([], { earlier: [first, second], again: [...reversed, row(5)] })
    expect(third).toMatchObject({ corrections_usdc: -0.4, running_total_usdc: 0.7 })
  })

  test('a later dispute is a line that changes no sum', () => {
    const again = [row(1, 'on_chain', { dispute: 'open' }), row(2), row(3, 'attested')]
    const second = statement([row(5)], { earlier: [first], again })
    expect(second.corrections).toMatchObject([
      { receipt_id: 'rcp_1', was: 'on_chain', is: 'on_chain', dispute: 'open', change_usdc: 0 },
    ])
  })
})

describe('checking a statement', () => {
  const good = statement([row(1), row(2, 'linked'), row(3)])
  const correction = (changes: Partial<IncomeStatement['corrections'][number]>) => ({
    receipt_id: 'rcp_0',
    rail: 'x402',
    amount_usdc: 5,
    month: '2026-09',
    was: 'on_chain' as const,
    is: 'on_chain' as const,
    change_usdc: 0,
    ...changes,
  })
  const bad = (changed: IncomeStatement, before: number | null = 0) =>
    checkStatement(changed, before).flatMap((one) => (one.good ? [] : [one.what]))

  test('a statement as it was made has no problem', () => {
    expect(bad(good)).toEqual([])
  })

  test.each<[string, IncomeStatement, readonly string[]]>([
    ['a higher total', { ...good, total_usdc: 5 }, ['total']],
    ['a higher running total', { ...good, running_total_usdc: 5 }, ['running total']],
    [
      'a missing receipt',
      { ...good, receipts: good.receipts.slice(1) },
      ['total', 'running total', 'Merkle root'],
    ],
    [
      'a higher amount in a line',
      { ...good, receipts: [row(1, 'on_chain', { amount_usdc: 9 }), ...good.receipts.slice(1)] },
      ['lines', 'total', 'running total'],
    ],
    [
      'a higher sum of a verdict',
      {
        ...good,
        by_verdict: good.by_verdict.map((one) =>
          one.verdict === 'linked' ? { ...one, amount_usdc: 9 } : one,
        ),
      },
      ['total'],
    ],
    ['a receipt twice', statement([row(1), row(2, 'linked'), row(2, 'linked')]), ['lines']],
    [
      'a transfer of two receipts',
      statement([row(1), { ...row(1), receipt_id: 'rcp_other' }]),
      ['lines'],
    ],
    [
      'a correction with another change',
      {
        ...good,
        corrections: [correction({ change_usdc: 5 })],
        corrections_usdc: 5,
        running_total_usdc: 5.4,
      },
      ['lines'],
    ],
    [
      'a correction of a receipt of the statement',
      { ...good, corrections: [correction({ receipt_id: 'rcp_1' })] },
      ['lines'],
    ],
    [
      'a verdict without its transfer',
      { ...good, receipts: good.receipts.map((one) => ({ ...one, verdict: 'on_chain' })) },
      ['lines', 'total'],
    ],
  ])('%s is found', (_, changed, problems) => {
    expect(bad(changed)).toEqual(problems)
  })

  test('the running total continues that of the statement before', () => {
    expect(bad(good, 3)).toEqual(['running total'])
    const second = { ...good, previous: { month: '2026-09', sha256: 'ab'.repeat(32) } }
    const open = checkStatement(second, null).filter(({ label }) => label === 'open')
    expect(open).toMatchObject([{ what: 'running total', detail: 'needs the statement before' }])
  })
})

test.each([
  ['2026-11-15T23:59:59.999Z', '2026-10'],
  ['2026-11-16T00:00:00.000Z', '2026-11'],
  ['2027-01-16T00:00:00.000Z', '2027-01'],
])('at %s, the months before %s may be closed', (at, month) => {
  expect(firstOpenMonth(Date.parse(at))).toBe(month)
})

test('December ends with the year', () => {
  expect(monthEnd('2026-12')).toBe('2027-01-01T00:00:00.000Z')
})
