import { describe, expect, test } from 'vitest'

import { pactEscrow } from '../../../src/core/pact/escrow.ts'
import { dayMs, hourMs, isoTime, minuteMs } from '../../../src/core/time.ts'
import { proxyDuringTest, rangeOf, rpcError } from '../../support/rpc-proxy.ts'
import {
  arbitrator,
  creator,
  deadlineMs,
  finalBlocks,
  genesisMs,
  id,
  manifests,
  paidMs,
  usePact,
  worker,
} from './use-pact.ts'

const pact = usePact()

async function readPacts() {
  await pact.read()
  return await currentPacts()
}

async function currentPacts() {
  const { settled, inFlight, recorded } = await pact.ledger.pacts()
  const [first] = inFlight
  return {
    groups: {
      settled: settled.map(({ pact_id }) => pact_id),
      in_flight: inFlight.map(({ pact_id }) => pact_id),
      recorded: recorded.map(({ pact_id }) => pact_id),
    },
    phase: first?.phase_status,
    blocker: first?.phase_blocker,
    next: first?.next_action,
    pact: first,
    settled: settled[0],
  }
}
const groups = { settled: [], in_flight: [String(id)], recorded: [] }
const settledOnly = { settled: [String(id)], in_flight: [], recorded: [] }
const inPhase = (phase: string) => ({ groups, phase, blocker: null })

describe('a pact', () => {
  test('a pact goes from its manifests to a verified receipt, in one group at each step', async () => {
    const blocker = 'The ledger has not read the escrow yet.'
    expect(await currentPacts()).toMatchObject({ groups, phase: 'drafted', blocker })
    expect(await readPacts()).toMatchObject(inPhase('drafted'))

    await pact.create()
    expect(await readPacts()).toMatchObject(inPhase('funded'))
    await pact.chain.mine(finalBlocks)
    const funded = await readPacts()
    expect(funded).toMatchObject(inPhase('in_progress'))
    expect(funded.next).toContain(`submitWork() before ${isoTime(deadlineMs)}`)
    expect(funded.pact?.updated_at).toBe(isoTime(genesisMs + dayMs))
    expect(funded.pact?.confirmed_by).toEqual(['escrow', 'manifest'])

    await pact.submit()
    const submitted = await readPacts()
    expect(submitted).toMatchObject(inPhase('submitted'))
    expect(submitted.next).toContain(manifests.workHash)
    expect(submitted.next).toContain(`after ${isoTime(genesisMs + 2 * dayMs + hourMs)} anyone`)
    expect(submitted.pact?.work_hash).toBe(manifests.workHash)

    await pact.approve()
    const approved = await readPacts()
    expect(approved).toMatchObject(inPhase('verifying'))
    expect(approved.next).toContain(`job_id pact-${id}`)

    const receiptId = await pact.pay()
    expect(await readPacts()).toMatchObject({ groups, phase: 'verifying' })
    await pact.settle()
    const { groups: after, settled } = await readPacts()
    expect(after).toEqual(settledOnly)
    expect(settled).toMatchObject({
      job_id: `pact-${id}`,
      chain: 'arbitrum',
      receipt_id: receiptId,
      amount_usdc: 12.5,
      payer: creator,
      worker,
      settled_at: isoTime(paidMs),
      title: 'A report on tides',
      confirmed_by: ['receipt', 'escrow', 'manifest'],
    })
    expect(settled?.explorer_url).toBe(`https://arbiscan.io/tx/${settled?.tx_hash}`)
    expect(settled?.block_number).toBeGreaterThan(0)
    expect(await pact.ledger.openFlags()).toEqual([])
  })

  test('a pact is settled by a release after the dispute window', async () => {
    await pact.create()
    await pact.submit()
    await pact.chain.act(worker, 'release', [id], genesisMs + 2 * dayMs + 2 * hourMs)
    expect(await readPacts()).toMatchObject(inPhase('verifying'))
    await pact.pay()
    await pact.settle()
    expect((await readPacts()).groups).toEqual(settledOnly)
  })

  test('a pact with several verified receipts is listed once, with the first that the escrow confirms', async () => {
    await pact.complete()
    const first = await pact.pay()
    await pact.pay({ name: '2', microUsdc: 1_000_000, atMs: genesisMs + 4 * dayMs })
    await pact.settle()
    const found = await readPacts()
    expect(found.groups).toEqual(settledOnly)
    expect(found.settled?.receipt_id).toBe(first)
  })

  test('a pact without a manifest in the ledger is recorded as the escrow reports it', async () => {
    await pact.create()
    await pact.chain.create(deadlineMs, genesisMs + dayMs + hourMs)
    await pact.read()
    const { recorded } = await pact.ledger.pacts()
    const parties = { creator, recipient: worker, amount_pact: '300' }
    expect(recorded).toMatchObject([
      {
        pact_id: String(id + 1),
        verification: 'confirmed',
        source: { kind: 'escrow' },
        escrow: { status: 'Active', ...parties, last_event: 'created' },
      },
    ])
  })
})

describe('a blocked pact', () => {
  test('a pact without submitted work is blocked from its deadline on', async () => {
    await pact.create()
    await pact.read()
    pact.ledger.at(deadlineMs + 1000)
    expect(await currentPacts()).toMatchObject({
      groups,
      phase: 'blocked',
      blocker: `deadline_passed: the deadline ${isoTime(deadlineMs)} has passed and no work was submitted.`,
      next: 'The creator may withdraw the funds with reclaim().',
      pact: { updated_at: isoTime(deadlineMs) },
    })
  })

  test('a refunded pact is blocked', async () => {
    await pact.create()
    await pact.chain.act(creator, 'reclaim', [id], deadlineMs + hourMs)
    const { next, ...found } = await readPacts()
    const blocker = 'The escrow refunded the creator; the worker was not paid.'
    expect(found).toMatchObject({ groups, phase: 'blocked', blocker })
    expect(next).toContain('can no longer be settled')
  })

  test('a disputed pact is blocked until the arbitrator rules for the worker', async () => {
    await pact.create()
    await pact.submit()
    const disputedMs = genesisMs + 3 * dayMs
    await pact.chain.act(creator, 'dispute', [id], disputedMs)
    const { next, ...found } = await readPacts()
    const blocker = `The creator disputed the work at ${isoTime(disputedMs)}.`
    expect(found).toMatchObject({ groups, phase: 'blocked', blocker })
    expect(next).toContain(arbitrator)
    const undoRuling = await pact.chain.snapshot()
    await pact.chain.act(arbitrator, 'rule', [id, true], disputedMs + dayMs)
    expect(await readPacts()).toMatchObject(inPhase('verifying'))
    await undoRuling()
    await pact.chain.act(arbitrator, 'rule', [id, false], disputedMs + dayMs)
    expect(await readPacts()).toMatchObject({
      phase: 'blocked',
      blocker: 'The arbitrator ruled for the creator; the worker was not paid.',
    })
  })

  test('a pact whose work hash differs from its manifest is blocked and flagged', async () => {
    await pact.create()
    const other = `0x${'99'.repeat(32)}`
    await pact.submit(other)
    const { phase, blocker } = await readPacts()
    expect(phase).toBe('blocked')
    expect(blocker).toContain(
      `hash_divergence: the work submitted to the escrow has the hash ${other}`,
    )
    const evidence = { pact_id: String(id), disagreements: 1, between_1: 'manifest and escrow' }
    expect(await pact.ledger.openFlags()).toMatchObject([
      { rail: 'pact', subject: `pact-${id}`, severity: 'warning', evidence },
    ])
  })

  test('a pact whose work was already submitted for an earlier pact is flagged', async () => {
    await pact.create()
    await pact.chain.create(deadlineMs, genesisMs + dayMs + hourMs)
    await pact.submit()
    const again = [id + 1, manifests.workHash]
    await pact.chain.act(worker, 'submitWork', again, genesisMs + 3 * dayMs)
    await pact.read()
    const flags = await pact.ledger.openFlags()
    expect(flags.map(({ subject }) => subject)).toEqual([`pact-${id + 1}`])
    expect(flags[0]?.evidence['finding_1']).toBe(
      `replay: the work hash ${manifests.workHash} was already submitted for pact ${id}`,
    )
  })

  test('a pact is blocked and flagged while its manifest is rejected', async () => {
    pact.ledger.addManifests(id, { ...manifests, instance: { ...manifests.instance, chain_id: 1 } })
    await pact.create()
    expect((await readPacts()).blocker).toContain('wrong_chain: the instance names chain 1')
    expect(await pact.ledger.openFlags()).toHaveLength(1)
    pact.ledger.addManifests(id, manifests)
    expect(await readPacts()).toMatchObject(inPhase('funded'))
    expect(await pact.ledger.openFlags()).toEqual([])
    expect((await pact.ledger.closedFlags())[0]?.closeReason).toBe('no longer applies')
  })
})

describe('a verified receipt', () => {
  test('a verified receipt that pays another recipient does not settle a pact and opens a flag', async () => {
    await pact.complete()
    await pact.pay({ to: arbitrator })
    await pact.settle()
    // Anyone can send such a receipt, so it does not block the pact.
    expect(await readPacts()).toMatchObject(inPhase('verifying'))
    const [flag, ...more] = await pact.ledger.openFlags()
    expect(more).toEqual([])
    expect(flag?.evidence['finding_1']).toContain(
      `wrong_signer: the receipt pays ${arbitrator}; the recipient of the pact is ${worker}`,
    )
  })

  test('a verified receipt does not settle a pact while the escrow has not paid the worker', async () => {
    await pact.create()
    await pact.pay()
    await pact.settle()
    const found = await readPacts()
    expect(found.groups).toEqual(groups)
    expect(found.blocker).toContain('the escrow has not paid the recipient: its status is Active')
  })

  test('a verified receipt does not settle a pact that the escrow does not contain', async () => {
    await pact.pay({ pactId: 777, atMs: genesisMs + dayMs })
    await pact.settle()
    await pact.read()
    expect((await pact.ledger.pacts()).settled).toEqual([])
    expect((await pact.ledger.openFlags())[0]?.evidence['finding_1']).toContain(
      'the escrow has no pact 777',
    )
  })

  test('a verified receipt does not settle a pact until its block is read, and opens no flag', async () => {
    await pact.create()
    await pact.read()
    await pact.submit()
    await pact.approve()
    await pact.pay()
    await pact.settle()
    expect((await currentPacts()).groups).toEqual(groups)
    expect((await readPacts()).groups).toEqual(settledOnly)
    expect(await pact.ledger.openFlags()).toEqual([])
  })
})

describe('a reorganisation', () => {
  test('a reorganisation that orphans the block of a log returns the pact to the phase before', async () => {
    await pact.create()
    await pact.chain.mine(finalBlocks)
    await pact.submit()
    expect((await readPacts()).phase).toBe('submitted')
    await pact.chain.rpc('anvil_rollback', [1])
    await pact.chain.mine(2)
    expect((await readPacts()).phase).toBe('in_progress')
  })

  test('a log that a reorganisation moves to another block is counted once', async () => {
    await pact.create()
    await pact.chain.mine(finalBlocks)
    const undo = await pact.chain.snapshot()
    await pact.submit()
    await pact.read()
    await undo()
    await pact.chain.mine(3)
    await pact.submit()
    expect((await readPacts()).phase).toBe('submitted')
  })

  test('a reorganisation to empty blocks returns a pact to its draft', async () => {
    await pact.create()
    expect((await readPacts()).phase).toBe('funded')
    await pact.chain.rpc('anvil_reorg', [1, []])
    await pact.chain.mine(1)
    expect((await readPacts()).phase).toBe('drafted')
  })

  test('a reorganisation that removes the payment of a settled pact returns it to verifying', async () => {
    await pact.complete()
    await pact.chain.mine(finalBlocks)
    await pact.read()
    const undo = await pact.chain.snapshot()
    await pact.pay()
    await pact.settle()
    expect((await currentPacts()).groups).toEqual(settledOnly)
    await undo()
    await pact.chain.rpc('evm_setNextBlockTimestamp', [(genesisMs + 6 * dayMs) / 1000])
    await pact.chain.mine(3 * finalBlocks)
    await pact.toHead()
    await pact.ledger.checkReceipts()
    expect(await readPacts()).toMatchObject({ groups, phase: 'verifying' })
  })

  test('a reorganisation of final blocks changes no pact and opens a flag', async () => {
    await pact.create()
    await pact.chain.mine(finalBlocks)
    await pact.read()
    await pact.restart()
    await pact.chain.mine(finalBlocks + 5)
    await expect(pact.read()).rejects.toThrow(/the final block \d+ has changed its hash/)
    expect(await currentPacts()).toMatchObject({ groups, phase: 'in_progress' })
    expect(await pact.ledger.openFlags()).toMatchObject([{ subject: 'escrow' }])
  })
})

describe('a node with a fault', () => {
  /** A pact in progress whose work was submitted in a block that the ledger has not read. */
  async function inProgress() {
    await pact.create()
    await pact.chain.mine(finalBlocks)
    await pact.read()
    await pact.submit()
    await pact.toHead()
  }
  async function expectUnchanged(failure: RegExp | string): Promise<void> {
    await expect(pact.ledger.check()).rejects.toThrow(failure)
    expect(await currentPacts()).toMatchObject(inPhase('in_progress'))
  }
  const word = (number: number) => number.toString(16).padStart(64, '0')

  test('an unreachable node changes no pact', async () => {
    await inProgress()
    pact.ledger.useNode('http://127.0.0.1:9')
    await expectUnchanged('arbitrum RPC at 127.0.0.1:9: the connection failed')
    expect(await pact.ledger.openFlags()).toEqual([])
  })

  test('a node that is hours behind changes no pact', async () => {
    await inProgress()
    pact.ledger.at((await pact.chain.headTimeMs()) + 3 * hourMs)
    await expectUnchanged(/is behind: the head \d+ is 180 minutes old/)
  })

  test.each([
    ['is on another chain', 'eth_chainId', /0xa4b1/, '0x1', 'serves chain 1, not 42161'],
    ['lacks the contract', 'eth_getCode', /"0x\w+"/, '"0x"', 'no contract at the escrow address'],
  ])('a node that %s changes no pact', async (_fault, method, from, to, failure) => {
    await inProgress()
    await pact.distort((request, answer) =>
      request.method === method ? answer.replace(from, to) : answer,
    )
    await expectUnchanged(failure)
  })

  test('a node that hides logs that getPact reveals changes no pact, and a flag is open until they are back', async () => {
    await inProgress()
    await pact.distort(({ method }, answer) =>
      method === 'eth_getLogs' ? answer.replace(/"result":\[.*\]/, '"result":[]') : answer,
    )
    await expectUnchanged(`contradicts itself about pact ${id} at block`)
    expect(await pact.ledger.openFlags()).toMatchObject([
      { subject: 'escrow', evidence: { contract: pactEscrow.address } },
    ])
    pact.ledger.useNode('http://127.0.0.1:9')
    await expect(pact.ledger.check()).rejects.toThrow('the connection failed')
    expect(await pact.ledger.openFlags()).toHaveLength(1)
    pact.ledger.useNode(pact.chain.url)
    expect((await readPacts()).phase).toBe('submitted')
    expect(await pact.ledger.openFlags()).toEqual([])
  })

  test('a node whose getPact says Completed before its logs do changes no pact', async () => {
    await inProgress()
    await pact.distort(({ method, params }, answer) =>
      method === 'eth_call' && JSON.stringify(params).includes(word(id))
        ? answer.replace(/1"(,|\})/, '2"$1')
        : answer,
    )
    await expectUnchanged('but getPact returns Completed')
  })

  test('a node that hides a pact that the next number reveals changes no pact', async () => {
    await inProgress()
    await pact.chain.create(deadlineMs, genesisMs + 3 * dayMs)
    await pact.toHead()
    await pact.distort(({ method }, answer) =>
      method === 'eth_getLogs' && answer.includes(word(id + 1))
        ? answer.replace(/,\{[^{}]*"topics":\[[^\]]*\],[^{}]*\}\]\}?$/, ']}')
        : answer,
    )
    await expectUnchanged(`about pact ${id + 1}`)
  })

  test('without a configured node a pact is reported as not read from the escrow', async () => {
    expect(await pact.ledger.checkWithoutNode()).toContain('RPC_URL_ARBITRUM is not set')
    expect((await currentPacts()).blocker).toBe('The ledger has not read the escrow yet.')
  })
})

test('a check of pacts that takes too long keeps what it has read, and the next run continues', async () => {
  await pact.create()
  await pact.chain.mine(100)
  await pact.toHead()
  const starts: number[] = []
  const { url } = await proxyDuringTest(pact.chain.url, {
    instead: (request) => {
      const range = rangeOf(request)
      if (range === null) return undefined
      if (range.to - range.from > 20) return rpcError(request, -32_005, 'too many blocks')
      starts.push(range.from)
      pact.ledger.wait(6 * minuteMs)
      return undefined
    },
  })
  pact.ledger.useNode(url)
  for (const runs of [1, 2]) {
    expect(await pact.ledger.check()).toContain('escrow caught up to block')
    // Two readings of 6 minutes each, every one above the blocks that are stored.
    expect(starts).toHaveLength(2 * runs)
  }
  expect(starts).toEqual([...new Set(starts)].toSorted((a, b) => a - b))
  pact.ledger.useNode(pact.chain.url)
  expect(await readPacts()).toMatchObject(inPhase('in_progress'))
})
