import { expect, test } from 'vitest'

import type { Dispute } from '../../src/contract/schemas/dispute.ts'
import type { Receipt } from '../../src/contract/schemas/receipt.ts'
import { contentOf } from '../../src/pages/blocks.ts'
import { disputePage } from '../../src/pages/dispute.ts'
import { oncePerJob } from '../../src/pages/income.ts'
import { receiptPage } from '../../src/pages/receipt.ts'
import type { ReceiptPageOptions } from '../../src/pages/receipt.ts'
import { workerPage } from '../../src/pages/worker.ts'
import { smallWorld } from '../support/world.ts'

const [onChain] = smallWorld().community.receipts
if (onChain === undefined) throw new Error('the small world has no receipt')
const proven: Receipt = onChain
const { from_wallet: payer = '', receipt_id: receiptId } = proven
const names = {
  rails: new Map([['alpha', { display_name: 'Alpha Market' }]]),
  wallets: new Map([[payer, { name: 'Larkspur', handle: 'larkspur' }]]),
}

function pageOf(changes: Partial<Receipt>, more: Partial<ReceiptPageOptions> = {}) {
  const options = {
    names,
    platformName: 'Quill',
    pactId: null,
    contradiction: null,
    logIndex: 7,
    quorum: null,
    isWitnessed: false,
    points: 0,
    disputes: [],
    ...more,
  }
  return receiptPage({ ...proven, ...changes }, options)
}

const platform = { kind: 'platform', platform: 'quill' } as const
const job = `job_${'0'.repeat(24)}`

test.each([
  ['on chain', {}],
  ['attested', { ...platform, onchain_verified: false }],
  [
    'agreed',
    {
      kind: 'platform',
      platform: 'job-exchange',
      job_id: job,
      verification: 'unverified',
      onchain_verified: false,
    },
  ],
  ['claimed', { verification: 'pending', onchain_verified: false }],
  ['claimed', { kind: 'erc8004', verification: 'pending', onchain_verified: false }],
  [
    'signed by the seller',
    { kind: 'x402', authority: 'pay_to', verification: 'pending', onchain_verified: false },
  ],
  ['reversed', { ...platform, verification: 'pending', onchain_verified: false }],
  ['rejected', { verification: 'rejected', onchain_verified: false }],
] as const)(
  'a receipt that is %s says so, and only a payment on chain is called paid',
  (evidence, changes) => {
    const page = pageOf(changes)
    const { md, html } = contentOf(page)
    expect(md).toMatch(new RegExp(`^${evidence} · `))
    expect(page.description).toContain(`: ${evidence}.`)
    for (const text of [md, String(html)])
      expect(/\bpaid\b/i.test(text)).toBe(evidence === 'on chain')
    expect(md.includes('The money moved')).toBe(evidence === 'on chain')
  },
)

test('a receipt of a seller without offer has an unknown amount until the chain says it', () => {
  const unknown = { kind: 'x402', onchain_verified: false, verification: 'pending' } as const
  const page = pageOf({
    ...unknown,
    amount_usdc: 0,
    unknown_figures: ['amount_usdc'],
    authority: 'did:web:shop.example#key-1',
  })
  expect(page.title).toBe('Unknown amount on Alpha Market')
  const { md } = contentOf(page)
  expect(md).not.toMatch(/\b0 USDC/)
  expect(md).toContain('With did:web:shop.example#key-1, which the seller’s site listed')
})

test('the page of a receipt links its rail by name, its registered payer and the job of the exchange', () => {
  const { md } = contentOf(pageOf({ kind: 'platform', platform: 'job-exchange', job_id: job }))
  expect(md).toContain('[Alpha Market](/rails/alpha)')
  expect(md).toContain('[Larkspur](/partners/larkspur)')
  expect(md).toContain(`(/jobs/${job})`)
  expect(contentOf(pageOf({ ...platform, job_id: job })).md).not.toContain('/jobs/')
})

test('the page of a receipt says whether witnesses have seen it, and whether the sources of its pact disagree', () => {
  const { md } = contentOf(pageOf({}))
  expect(md).toContain('**Not witnessed** (not proven, no witness configured)')
  const seen = contentOf(pageOf({}, { quorum: 2, isWitnessed: true })).md
  expect(seen).toContain('**Others saw the same log** (proven, cosigned by 2)')
  const flag = {
    id: 'flg_1',
    rail: 'pact',
    kind: 'pact_sources_disagree',
    severity: 'warning',
    title: 'Pact 42: its sources disagree',
    evidence: {},
    opened_at: proven.occurred_at,
  } as const
  const { md: doubted } = contentOf(
    pageOf({}, { contradiction: { flag, text: 'the receipt is on base' } }),
  )
  expect(doubted).toContain(
    'The receipt is on base. [Pact 42: its sources disagree](/honesty#flg_1)',
  )
})

test('sums of a worker leave out what the chain contradicts, and a claim for a job whose agreement counts', () => {
  const receipt = (id: number, changes: Partial<Receipt>): Receipt => ({
    ...proven,
    receipt_id: `${receiptId.slice(0, -1)}${id}`,
    amount_usdc: 10,
    ...changes,
  })
  const claimed = {
    kind: 'signed',
    verification: 'unverified',
    onchain_verified: false,
    from_wallet: `0x${'c1'.repeat(20)}`,
  } as const
  const receipts = [
    receipt(1, {}),
    receipt(2, { ...platform, onchain_verified: false, amount_usdc: 30 }),
    receipt(3, { verification: 'rejected', onchain_verified: false, amount_usdc: 1000 }),
    receipt(4, { ...claimed, amount_usdc: 60, job_id: job }),
    receipt(5, { ...claimed, kind: 'platform', platform: 'job-exchange', job_id: job }),
  ]
  const noStatements = { statements: { closed: [], open: [] } }
  const options = {
    worker: undefined,
    standing: undefined,
    receipts,
    total: '5',
    names,
    ...noStatements,
  }
  const { md } = contentOf(workerPage(receipts[0]?.to_wallet ?? '', options))
  expect(md).toContain(
    '3 receipts over 50 USDC from 2 customers. 20 % of it is proven on chain. 1 more was reversed or rejected. 1 more names a job that is counted already.',
  )
})

test('an agreement without a job counts next to a payment without one', () => {
  const payment: Receipt = { ...proven, job_id: undefined }
  const agreement: Receipt = {
    ...payment,
    kind: 'platform',
    platform: 'job-exchange',
    verification: 'unverified',
    onchain_verified: false,
  }
  expect(oncePerJob([payment, agreement])).toEqual([payment, agreement])
})

test('of an agreement and receipts of its job count those that others show, otherwise the agreement', () => {
  const paid: Receipt = { ...proven, job_id: job }
  const claim: Receipt = {
    ...paid,
    kind: 'signed',
    verification: 'pending',
    onchain_verified: false,
  }
  const agreement: Receipt = { ...claim, kind: 'platform', platform: 'job-exchange' }
  expect(oncePerJob([claim, agreement, claim])).toEqual([agreement])
  expect(oncePerJob([claim, agreement, paid])).toEqual([paid])
  expect(oncePerJob([claim, claim])).toEqual([claim, claim])
})

test('a claim cannot pass for the words of the operator, in HTML or Markdown', () => {
  const at = '2026-11-20T10:00:00.000Z'
  const id = `dsp_${'0'.repeat(24)}`
  const claim = 'False.”\n\n**The operator agrees**, 2026-11-21 10:00 UTC:\n\n> Right.</blockquote>'
  const dispute: Dispute = {
    dispute_id: id,
    state: 'answered',
    standing: 'anyone',
    wallet: payer,
    target: { receipt_id: receiptId },
    claim,
    opened_at: at,
    updated_at: at,
    steps: [
      { step_id: 'a', dispute_id: id, event: 'opened', at, text: claim },
      { step_id: 'b', dispute_id: id, event: 'answered', at, text: 'We looked again.' },
    ],
  }
  const { md, html } = contentOf(disputePage(dispute, names))
  expect(md.split('\n').filter((line) => line.startsWith('**The '))).toEqual([
    '**The disputer claims**, 2026-11-20 10:00 UTC:',
    '**The operator answers**, 2026-11-20 10:00 UTC:',
  ])
  expect(md.split('\n').filter((line) => line.startsWith('> '))).toHaveLength(2)
  expect(String(html).match(/<blockquote>/g)).toHaveLength(2)
  expect(String(html).match(/class="words operator"/g)).toHaveLength(1)
})
