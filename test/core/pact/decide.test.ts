import { expect, test } from 'vitest'

import { decidePacts } from '../../../src/core/pact/decide.ts'
import type { EscrowPact } from '../../../src/core/pact/escrow.ts'
import type { EscrowEvent, PactReceipt, PactSources } from '../../../src/core/pact/sources.ts'

const creator = `0x${'1'.repeat(40)}`
const recipient = `0x${'2'.repeat(40)}`
const stranger = `0x${'3'.repeat(40)}`

const created: EscrowEvent = {
  pactId: 7,
  kind: 'created',
  block: 100,
  logIndex: 0,
  txHash: `0x${'a'.repeat(64)}`,
  atMs: 1000,
  workHash: null,
  favorRecipient: null,
}
const state: EscrowPact = {
  creator,
  recipient,
  arbitrator: stranger,
  amount: '300',
  deadlineMs: 9000,
  disputeWindowMs: 0,
  workSubmittedAtMs: null,
  workHash: null,
  status: 'Completed',
}

const sources = (changes: Partial<PactSources>): PactSources => ({
  nowMs: 5000,
  reading: { toBlock: 200, finalBlock: 150, caughtUp: true },
  onChain: new Map(),
  manifests: [],
  receipts: [],
  published: [],
  ...changes,
})

const receipt = (id: string, changes: Partial<PactReceipt> = {}): PactReceipt => ({
  receiptId: id,
  pactId: 7,
  chain: 'arbitrum',
  txHash: `0x${'b'.repeat(64)}`,
  payer: { id: creator, display: creator },
  worker: { id: recipient, display: recipient },
  amountMicroUsdc: 1,
  block: 120,
  settledAtMs: 2000,
  ...changes,
})

test('a pact with only its logs read is unverified', () => {
  const reading = { toBlock: 110, finalBlock: 110, caughtUp: false }
  const onChain = new Map([[7, { events: [created], state: null }]])
  expect(decidePacts(sources({ reading, onChain })).recorded).toMatchObject([
    { pactId: 7, verdict: { verification: 'unverified', confirmed: [] } },
  ])
})

test('receipts of strangers, earlier ones and those on another chain neither settle a pact nor prevent its settlement', () => {
  const onChain = new Map([[7, { events: [created], state }]])
  const other = { id: stranger, display: stranger }
  const receipts = [
    receipt('a', { block: 101, worker: other }),
    receipt('b', { block: 102, payer: other }),
    receipt('c', { block: 103, chain: 'base' }),
    receipt('d', { block: 140 }),
    receipt('e', { block: 130 }),
  ]
  const { settled, disagreements } = decidePacts(sources({ onChain, receipts }))
  expect(settled).toMatchObject([{ pactId: 7, receipt: { receiptId: 'e' } }])
  const found = disagreements.get(7) ?? []
  expect(found.map(({ text }) => text.slice(0, 2))).toEqual(['a:', 'b:', 'c:'])
  expect(found.every(({ byStranger }) => byStranger === true)).toBe(true)
})
