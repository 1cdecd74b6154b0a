import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'

import { runCommand } from '../support/command-line.ts'

const folder = mkdtempSync(join(tmpdir(), 'ledger-rules-'))
const file = join(folder, 'lines.ndjson')
afterAll(() => rmSync(folder, { recursive: true }))

const start = (rail: string, more = {}) => ({
  rail,
  end: '2026-09-30T00:00:00Z',
  basis: 'payments',
  ...more,
})
/** Payments on successive days. */
const paid = (
  payer: string,
  payee: string,
  usdc: number,
  day = 1,
  removedBy: string | null = null,
) => ({
  payment: {
    at: `2026-09-${String(day).padStart(2, '0')}T12:00:00Z`,
    tx: `0x${payer}${day}`,
    payer,
    payee,
    amount_usdc: usdc,
    removed_by: removedBy,
  },
})
const sent = (from: string, to: string, usdc: number) => ({
  transfer: { at: '2026-08-20T12:00:00Z', from, to, amount_usdc: usdc },
})
const customers = ['a', 'b', 'c', 'd', 'e', 'f']
const honest = customers.flatMap((payer, day) => [
  paid(payer, 'v', 10, day + 1),
  paid(payer, 'w', 20, day + 10),
])
const verdict = (address: string, facts: object) => ({ wallet: { address, ...facts } })
const plain = { listed_hub: false, age_days: 20, recipients: 12, contract: false }

const tried = z.strictObject({
  rail: z.string(),
  status: z.string(),
  flags: z.array(
    z.strictObject({ kind: z.string(), severity: z.string(), evidence: z.looseObject({}) }),
  ),
  figures: z.looseObject({
    tpv_30d_net_usdc: z.number().nullable(),
    parties_30d: z.number().nullable(),
  }),
  reasons: z.array(z.string()),
})

async function tryLines(...lines: readonly object[]) {
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  const { code, out, err } = await runCommand(['rules', 'try', file])
  expect([code, err]).toEqual([0, ''])
  return out
    .trim()
    .split('\n')
    .map((line) => tried.parse(JSON.parse(line)))
}

async function tryOne(...lines: readonly object[]) {
  const [rail] = await tryLines(start('a'), ...lines)
  const { status, flags, figures } = tried.parse(rail)
  return {
    status,
    kinds: flags.map(({ kind }) => kind).join(' '),
    net: figures.tpv_30d_net_usdc,
    parties: figures.parties_30d,
  }
}

describe('rules try', () => {
  it('rules try prints one line per rail with status, flags, figures and reasons', async () => {
    const [first, second] = await tryLines(
      start('one'),
      ...honest,
      start('two'),
      paid('a', 'w', 50),
    )
    expect(first).toMatchObject({
      rail: 'one',
      status: 'paying',
      flags: [],
      figures: { tpv_30d_usdc: 180, tpv_30d_net_usdc: 180, parties_30d: 6 },
    })
    expect(first?.reasons.at(-2)).toMatch(/^Judged without funders.* Measured: 6;/)
    expect(first?.reasons.at(-1)).toContain('The rest, if the volume is known')
    expect(second).toMatchObject({
      rail: 'two',
      status: 'potemkin',
      flags: [
        {
          kind: 'concentrated',
          severity: 'warning',
          evidence: { top_worker_share: 1, threshold: 0.9 },
        },
        { kind: 'single_payment', severity: 'info' },
      ],
    })
  })

  it.each<[string, readonly object[], object]>([
    ['nothing', [], { status: 'dormant' }],
    [
      'payments before the window',
      [{ payment: { ...paid('a', 'w', 5).payment, at: '2026-08-30T12:00:00Z' } }],
      { status: 'dormant' },
    ],
    [
      'offers of many and no payment',
      [{ offers: { count: 40, creators: 30 } }],
      { status: 'pre-traction' },
    ],
    [
      'payments of an unknown volume',
      [...honest, { offers: { count: 1, creators: 1 }, volume_known: false }],
      { status: 'pre-traction', net: null },
    ],
    [
      'four customers',
      honest.filter(({ payment }) => payment.payer < 'e'),
      { status: 'pre-traction' },
    ],
    [
      'one large customer and many small ones',
      [
        ...customers.map((payer, day) => paid(payer, 'v', 3, day + 1)),
        ...customers.map((payer, day) => paid(payer, 'w', 1, day + 9)),
        paid('z', 'v', 250),
        paid('z', 'w', 250),
      ],
      { status: 'pre-traction', net: 524 },
    ],
    [
      'customers that all pay in one hour',
      customers.flatMap((payer) => [paid(payer, 'v', 10, 5), paid(payer, 'w', 10, 5)]),
      { status: 'pre-traction' },
    ],
    [
      'customers with one source of funds',
      [...honest, verdict('s', plain), ...customers.map((payer) => sent('s', payer, 40))],
      { status: 'potemkin', parties: 1, kinds: 'common_funder dominant_payer' },
    ],
    [
      'customers with an exchange as source',
      [
        ...honest,
        verdict('s', { ...plain, listed_hub: true }),
        ...customers.map((payer) => sent('s', payer, 40)),
      ],
      { status: 'paying', parties: 6 },
    ],
    [
      'customers with an unlisted hub as source',
      [
        ...honest,
        verdict('s', { ...plain, age_days: 90, recipients: 200 }),
        ...customers.map((payer) => sent('s', payer, 40)),
      ],
      { status: 'paying', parties: 6 },
    ],
    [
      'customers with a source of which nothing is known',
      [...honest, ...customers.map((payer) => sent('s', payer, 40))],
      { status: 'paying', parties: 6 },
    ],
    [
      'customers who pay once and whose funders are unknown',
      customers.map((payer, day) => paid(payer, day % 2 === 0 ? 'v' : 'w', 10, day + 1)),
      { status: 'pre-traction', net: 60 },
    ],
    [
      'workers who pay with what they earned',
      [
        paid('a', 'b', 100, 1),
        ...['bc', 'cd', 'de', 'ef', 'fg'].map(([from = '', to = ''], day) =>
          paid(from, to, 100, day + 2),
        ),
      ],
      { status: 'pre-traction', net: 600 },
    ],
    [
      'workers who pay with what they earned, with looked-up funders',
      [
        sent('x', 'a', 100),
        paid('a', 'b', 100, 1),
        ...['bc', 'cd', 'de', 'ef', 'fg'].map(([from = '', to = ''], day) =>
          paid(from, to, 100, day + 2),
        ),
      ],
      { status: 'potemkin', net: 100 },
    ],
    [
      'a gift to customers who have other money',
      [
        ...honest,
        verdict('s', plain),
        verdict('x', { ...plain, listed_hub: true }),
        ...customers.flatMap((payer) => [sent('s', payer, 60), sent('x', payer, 60)]),
      ],
      { status: 'paying', parties: 6, kinds: '' },
    ],
    [
      'customers with two sources that each send all they pay',
      [
        ...honest,
        verdict('s', plain),
        verdict('t', plain),
        ...customers.flatMap((payer) => [sent('s', payer, 40), sent('t', payer, 40)]),
      ],
      { status: 'potemkin', parties: 1 },
    ],
    [
      'customers who pay equally often at one price',
      customers.flatMap((payer, at) =>
        [1, 3, 4, 9, 17, 23].map((day, index) =>
          paid(payer, index % 2 === 0 ? 'v' : 'w', 5, day + ((at * index) % 4)),
        ),
      ),
      { status: 'paying', kinds: 'uniform_payers' },
    ],
    [
      'workers whose income reaches one wallet over two others',
      [
        ...honest,
        ...['x', 'y', 'z'].map((wallet) => verdict(wallet, plain)),
        sent('v', 'x', 60),
        sent('x', 'z', 60),
        sent('w', 'y', 120),
        sent('y', 'z', 120),
      ],
      { status: 'concentrated' },
    ],
    [
      'customers with two sources of funds',
      [
        ...honest,
        verdict('s', plain),
        verdict('t', plain),
        ...customers.map((payer, index) => sent(index % 2 === 0 ? 's' : 't', payer, 40)),
      ],
      { status: 'pre-traction', parties: 2, kinds: 'common_funder' },
    ],
    [
      'customers to whom a stranger sends little',
      [...honest, verdict('s', plain), ...customers.map((payer) => sent('s', payer, 1))],
      { status: 'paying', parties: 6 },
    ],
    [
      'money that comes back over two wallets',
      [
        ...honest,
        verdict('x', plain),
        verdict('y', plain),
        sent('v', 'x', 60),
        sent('x', 'y', 60),
        ...customers.map((payer) => sent('y', payer, 10)),
      ],
      { status: 'concentrated', net: 120, kinds: 'concentrated circular_flow' },
    ],
    [
      'refunds of a tenth',
      [...honest, verdict('x', plain), sent('v', 'a', 1), sent('w', 'b', 2)],
      { status: 'paying', net: 177, kinds: '' },
    ],
    [
      'self-payments',
      [...honest, paid('w', 'w', 500, 3, 'self_payment')],
      { status: 'paying', kinds: 'self_dealing' },
    ],
    [
      'payouts to humans',
      [...honest, paid('w', 'h', 500, 3, 'human_only')],
      { status: 'paying', kinds: 'mostly_filtered' },
    ],
    [
      'self-payments of 9 USDC',
      [paid('w', 'w', 9, 3, 'self_payment'), paid('a', 'w', 1)],
      { kinds: '' },
    ],
  ])('rules try judges a rail with %s', async (_name, lines, expected) => {
    expect(await tryOne(...lines)).toMatchObject(expected)
  })

  it.each([
    ['{"payment":{"at":"2026-09-01T12:00:00Z"', 'line 2: is not JSON'],
    [
      '{"payment":{"at":"yesterday","tx":"1","payer":"a","payee":"b","amount_usdc":1}}',
      'line 2: payment.at: must be an RFC 3339 time',
    ],
    [
      '{"payment":{"at":"2026-09-01T12:00:00Z","tx":"1","payer":"a","payee":"b","amount_usdc":-1}}',
      'line 2: payment.amount_usdc',
    ],
    ['{"paymnt":{}}', 'line 2: must have a member'],
  ])('rules try refuses the line %s', async (line, message) => {
    writeFileSync(file, `${JSON.stringify(start('a'))}\n${line}\n`)
    const { code, err } = await runCommand(['rules', 'try', file])
    expect(code).not.toBe(0)
    expect(err).toContain(message)
  })

  it('rules try joins payers of one funder even if funder and collector also trade dust', async () => {
    const lines = [
      verdict('source', plain),
      verdict('collector', plain),
      ...customers.map((payer) => sent('source', payer, 40)),
      ...honest,
      sent('v', 'collector', 60),
      sent('w', 'collector', 120),
    ]
    const joined = { status: 'potemkin', parties: 1 }
    expect(await tryOne(...lines)).toMatchObject(joined)
    const dust = [paid('a', 'source', 0.000001, 20), paid('collector', 'v', 0.000001, 21)]
    expect(await tryOne(...lines, ...dust)).toMatchObject({ status: 'potemkin' })
  })

  it('rules try refuses a payment before the first rail', async () => {
    writeFileSync(file, JSON.stringify(paid('a', 'b', 1)))
    expect((await runCommand(['rules', 'try', file])).err).toContain(
      'line 1: comes before the first rail',
    )
  })
})
