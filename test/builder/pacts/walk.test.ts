import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'

import { pactEscrow } from '../../../src/core/pact/escrow.ts'
import { dayMs, hourMs, isoTime, minuteMs } from '../../../src/core/time.ts'
import {
  arbitrator,
  creator,
  firstPactId as id,
  startPactChain,
  worker,
} from '../../support/pact-chain.ts'
import type { PactChain } from '../../support/pact-chain.ts'
import { manifestsOf, pactLedger } from '../../support/pact-ledger.ts'
import { startRpcProxy } from '../../support/rpc-proxy.ts'
import { allowSlowTests } from '../../support/slow-tests.ts'

allowSlowTests('starts anvil')

const genesisMs = Date.UTC(2026, 10, 1)
const deadlineMs = Date.UTC(2026, 10, 10, 12)
const manifests = manifestsOf(id, deadlineMs)
const finalBlocks = 20

let chain: PactChain
let ledger: Awaited<ReturnType<typeof pactLedger>>
let goBack: () => Promise<void>

beforeAll(async () => {
  chain = await startPactChain(genesisMs)
})
afterAll(async () => await chain.stop())
beforeEach(async () => {
  goBack = await chain.snapshot()
  ledger = await pactLedger(chain.url, genesisMs)
  ledger.hold(id, manifests)
  return async () => await goBack()
})

/** Reads the chain shortly after its head, and answers the groups with what stands of the pact in each. */
async function look() {
  ledger.at((await chain.headTimeMs()) + minuteMs)
  await ledger.check()
  return await shown()
}

async function shown() {
  const { settled, inFlight, recorded } = await ledger.pacts()
  const [pact] = inFlight
  return {
    groups: {
      settled: settled.map(({ pact_id }) => pact_id),
      in_flight: inFlight.map(({ pact_id }) => pact_id),
      recorded: recorded.map(({ pact_id }) => pact_id),
    },
    phase: pact?.phase_status,
    blocker: pact?.phase_blocker,
    next: pact?.next_action,
    pact,
    settled: settled[0],
  }
}
const inFlightOnly = { settled: [], in_flight: [String(id)], recorded: [] }

async function fund(): Promise<void> {
  await chain.create(deadlineMs, genesisMs + dayMs)
}
async function submit(hash: string = manifests.workHash): Promise<void> {
  await chain.act(worker, 'submitWork', [id, hash], genesisMs + 2 * dayMs)
}
async function approve(): Promise<void> {
  await chain.act(creator, 'approve', [id], genesisMs + 3 * dayMs)
}
/** USDC for the pact, and a receipt of it that waits for its chain. */
async function receipt(name = '1', to: string = worker): Promise<string> {
  const from = creator
  const txHash = await chain.pay(from, worker, 12_500_000, genesisMs + 3 * dayMs + hourMs)
  ledger.at(genesisMs + 3 * dayMs + hourMs)
  return await ledger.receipt({ id: name, pactId: id, txHash, from, to })
}
async function settle(): Promise<void> {
  await chain.mine(finalBlocks)
  ledger.at((await chain.headTimeMs()) + minuteMs)
  await ledger.checkReceipts()
}

describe('a pact', () => {
  test('walks from its manifests to a verified receipt, in one group at each step', async () => {
    expect(await shown()).toMatchObject({
      groups: inFlightOnly,
      phase: 'drafted',
      blocker: 'The ledger has not read the escrow yet.',
    })
    expect(await look()).toMatchObject({ groups: inFlightOnly, phase: 'drafted', blocker: null })

    await fund()
    expect(await look()).toMatchObject({ groups: inFlightOnly, phase: 'funded', blocker: null })
    await chain.mine(finalBlocks)
    const funded = await look()
    expect(funded).toMatchObject({ groups: inFlightOnly, phase: 'in_progress', blocker: null })
    expect(funded.next).toContain(`submitWork() before ${isoTime(deadlineMs)}`)
    expect(funded.pact?.updated_at).toBe(isoTime(genesisMs + dayMs))
    expect(funded.pact?.confirmed_by).toEqual(['escrow', 'manifest'])

    await submit()
    const submitted = await look()
    expect(submitted).toMatchObject({ groups: inFlightOnly, phase: 'submitted', blocker: null })
    expect(submitted.next).toContain(manifests.workHash)
    expect(submitted.next).toContain(`after ${isoTime(genesisMs + 2 * dayMs + hourMs)} anyone`)
    expect(submitted.pact?.work_hash).toBe(manifests.workHash)

    await approve()
    const approved = await look()
    expect(approved).toMatchObject({ groups: inFlightOnly, phase: 'verifying', blocker: null })
    expect(approved.next).toContain(`job_id pact-${id}`)

    const receiptId = await receipt()
    expect(await look()).toMatchObject({ groups: inFlightOnly, phase: 'verifying' })
    await settle()
    const { groups, settled } = await look()
    expect(groups).toEqual({ settled: [String(id)], in_flight: [], recorded: [] })
    expect(settled).toMatchObject({
      job_id: `pact-${id}`,
      chain: 'arbitrum',
      receipt_id: receiptId,
      amount_usdc: 12.5,
      payer: creator,
      worker,
      settled_at: isoTime(genesisMs + 3 * dayMs + hourMs),
      title: 'A report on tides',
      confirmed_by: ['receipt', 'escrow', 'manifest'],
    })
    expect(settled?.explorer_url).toBe(`https://arbiscan.io/tx/${settled?.tx_hash}`)
    expect(settled?.block_number).toBeGreaterThan(0)
    expect(await ledger.openFlags()).toEqual([])
  })

  test('is settled by a release after the dispute window', async () => {
    await fund()
    await submit()
    await chain.act(worker, 'release', [id], genesisMs + 2 * dayMs + 2 * hourMs)
    expect(await look()).toMatchObject({ phase: 'verifying', blocker: null })
    await receipt()
    await settle()
    expect((await look()).groups.settled).toEqual([String(id)])
  })

  test('with several verified receipts is listed once and settled by the first that the escrow confirms', async () => {
    await fund()
    await submit()
    await approve()
    const first = await receipt('1')
    const txHash = await chain.pay(creator, worker, 1_000_000, genesisMs + 4 * dayMs)
    ledger.at(genesisMs + 4 * dayMs)
    await ledger.receipt({
      id: '2',
      pactId: id,
      txHash,
      from: creator,
      to: worker,
      microUsdc: 1_000_000,
    })
    await settle()
    const { groups, settled } = await look()
    expect(groups).toEqual({ settled: [String(id)], in_flight: [], recorded: [] })
    expect(settled?.receipt_id).toBe(first)
  })

  test('without a manifest in the ledger is recorded as the escrow reports it', async () => {
    await chain.create(deadlineMs, genesisMs + dayMs)
    await chain.create(deadlineMs, genesisMs + dayMs + hourMs)
    await look()
    const { recorded } = await ledger.pacts()
    expect(recorded).toMatchObject([
      {
        pact_id: String(id + 1),
        verification: 'confirmed',
        source: { kind: 'escrow' },
        escrow: {
          status: 'Active',
          creator,
          recipient: worker,
          amount_pact: '300',
          last_event: 'created',
        },
      },
    ])
  })
})

describe('a pact is blocked with the reason', () => {
  test('from its deadline on when no work was submitted', async () => {
    await fund()
    await look()
    ledger.at(deadlineMs + 1000)
    expect(await shown()).toMatchObject({
      groups: inFlightOnly,
      phase: 'blocked',
      blocker: `deadline_passed: the deadline ${isoTime(deadlineMs)} has passed and no work was submitted.`,
      next: 'The creator may take the funds back with reclaim().',
      pact: { updated_at: isoTime(deadlineMs) },
    })
  })

  test('when it was refunded', async () => {
    await fund()
    await chain.act(creator, 'reclaim', [id], deadlineMs + hourMs)
    expect(await look()).toMatchObject({
      groups: inFlightOnly,
      phase: 'blocked',
      blocker: 'The escrow refunded the creator; the worker was not paid.',
    })
    expect((await shown()).next).toContain('cannot settle any more')
  })

  test('when it is disputed, until the arbitrator rules for the worker', async () => {
    await fund()
    await submit()
    await chain.act(creator, 'dispute', [id], genesisMs + 3 * dayMs)
    expect(await look()).toMatchObject({
      groups: inFlightOnly,
      phase: 'blocked',
      blocker: `The creator disputed the work at ${isoTime(genesisMs + 3 * dayMs)}.`,
    })
    expect((await shown()).next).toContain(arbitrator)
    const undecided = await chain.snapshot()
    await chain.act(arbitrator, 'rule', [id, true], genesisMs + 4 * dayMs)
    expect(await look()).toMatchObject({ phase: 'verifying', blocker: null })
    await undecided()
    await chain.act(arbitrator, 'rule', [id, false], genesisMs + 4 * dayMs)
    expect(await look()).toMatchObject({
      phase: 'blocked',
      blocker: 'The arbitrator ruled for the creator; the worker was not paid.',
    })
  })

  test('and flagged for honesty when the work hash differs from its manifest', async () => {
    await fund()
    const other = `0x${'99'.repeat(32)}`
    await submit(other)
    const { phase, blocker } = await look()
    expect(phase).toBe('blocked')
    expect(blocker).toContain(
      `hash_divergence: the work submitted to the escrow has the hash ${other}`,
    )
    expect(await ledger.openFlags()).toMatchObject([
      {
        rail: 'pact',
        subject: `pact-${id}`,
        severity: 'warning',
        evidence: { pact_id: String(id), disagreements: 1, between_1: 'manifest and escrow' },
      },
    ])
  })

  test('when its work was already submitted for an earlier pact', async () => {
    await fund()
    await chain.create(deadlineMs, genesisMs + dayMs + hourMs)
    await submit()
    await chain.act(worker, 'submitWork', [id + 1, manifests.workHash], genesisMs + 3 * dayMs)
    await look()
    const flags = await ledger.openFlags()
    expect(flags.map(({ subject }) => subject)).toEqual([`pact-${id + 1}`])
    expect(flags[0]?.evidence['finding_1']).toBe(
      `replay: its work hash ${manifests.workHash} was submitted for pact ${id} before`,
    )
  })

  test('while its manifest is rejected', async () => {
    ledger.hold(id, { ...manifests, instance: { ...manifests.instance, chain_id: 1 } })
    await fund()
    expect((await look()).blocker).toContain('wrong_chain: the instance names chain 1')
    expect(await ledger.openFlags()).toHaveLength(1)
    ledger.hold(id, manifests)
    expect(await look()).toMatchObject({ phase: 'funded', blocker: null })
    expect(await ledger.openFlags()).toEqual([])
    expect((await ledger.closedFlags())[0]?.closeReason).toBe('no longer applies')
  })
})

describe('a verified receipt does not settle a pact', () => {
  test('with another recipient, and the ledger reports it', async () => {
    await fund()
    await submit()
    await approve()
    const txHash = await chain.pay(creator, arbitrator, 12_500_000, genesisMs + 3 * dayMs + hourMs)
    ledger.at(genesisMs + 3 * dayMs + hourMs)
    await ledger.receipt({ id: '3', pactId: id, txHash, from: creator, to: arbitrator })
    await settle()
    // A stranger's receipt is told and holds nothing up.
    const { groups, phase, blocker } = await look()
    expect(groups).toEqual(inFlightOnly)
    expect({ phase, blocker }).toEqual({ phase: 'verifying', blocker: null })
    const [flag, ...more] = await ledger.openFlags()
    expect(more).toEqual([])
    expect(flag?.evidence['finding_1']).toContain(
      `wrong_signer: it pays ${arbitrator}; the recipient is ${worker}`,
    )
  })

  test('for a pact that the escrow has not paid', async () => {
    await fund()
    await receipt()
    await settle()
    const { groups, blocker } = await look()
    expect(groups).toEqual(inFlightOnly)
    expect(blocker).toContain('the escrow has not paid the recipient: it says Active')
  })

  test('for a pact that is missing from the escrow', async () => {
    const txHash = await chain.pay(creator, worker, 12_500_000, genesisMs + dayMs)
    ledger.at(genesisMs + dayMs)
    await ledger.receipt({ id: '4', pactId: 777, txHash, from: creator, to: worker })
    await settle()
    await look()
    expect((await ledger.pacts()).settled).toEqual([])
    expect((await ledger.openFlags())[0]?.evidence['finding_1']).toContain(
      'the escrow has no pact 777',
    )
  })

  test('in a block that is not read yet, and opens no flag', async () => {
    await fund()
    await look()
    await submit()
    await approve()
    await receipt()
    await settle()
    expect((await shown()).groups).toEqual(inFlightOnly)
    expect((await look()).groups.settled).toEqual([String(id)])
    expect(await ledger.openFlags()).toEqual([])
  })
})

describe('a reorganisation', () => {
  test('removes the log of an orphaned block and returns the pact to the phase before', async () => {
    await fund()
    await chain.mine(finalBlocks)
    await submit()
    expect((await look()).phase).toBe('submitted')
    await chain.rpc('anvil_rollback', [1])
    await chain.mine(2)
    expect((await look()).phase).toBe('in_progress')
  })

  test('that moves a log to another block keeps it once', async () => {
    await fund()
    await chain.mine(finalBlocks)
    const before = await chain.snapshot()
    await submit()
    await look()
    await before()
    await chain.mine(3)
    await submit()
    expect((await look()).phase).toBe('submitted')
  })

  test('to empty blocks returns the pact to its draft', async () => {
    await fund()
    expect((await look()).phase).toBe('funded')
    await chain.rpc('anvil_reorg', [1, []])
    await chain.mine(1)
    expect((await look()).phase).toBe('drafted')
  })

  test('that removes the payment of a settled pact unsettles it', async () => {
    await fund()
    await submit()
    await approve()
    await chain.mine(finalBlocks)
    await look()
    const before = await chain.snapshot()
    await receipt()
    await settle()
    expect((await shown()).groups.settled).toEqual([String(id)])
    await before()
    const laterMs = genesisMs + 6 * dayMs
    await chain.rpc('evm_setNextBlockTimestamp', [laterMs / 1000])
    await chain.mine(3 * finalBlocks)
    ledger.at((await chain.headTimeMs()) + minuteMs)
    await ledger.checkReceipts()
    await look()
    expect(await shown()).toMatchObject({ groups: inFlightOnly, phase: 'verifying' })
  })

  test('of final blocks is ignored', async () => {
    await fund()
    await chain.mine(finalBlocks)
    await look()
    await goBack()
    goBack = await chain.snapshot()
    await chain.mine(finalBlocks + 5)
    ledger.at((await chain.headTimeMs()) + minuteMs)
    await expect(ledger.check()).rejects.toThrow(/the final block \d+ has another hash than it had/)
    expect(await shown()).toMatchObject({ groups: inFlightOnly, phase: 'in_progress' })
    expect(await ledger.openFlags()).toMatchObject([{ subject: 'escrow' }])
  })
})

describe('pacts stay unchanged when the node', () => {
  async function inProgress() {
    await fund()
    await chain.mine(finalBlocks)
    await look()
    await submit()
    ledger.at((await chain.headTimeMs()) + minuteMs)
  }
  const unchanged = { groups: inFlightOnly, phase: 'in_progress', blocker: null }

  test('is unreachable', async () => {
    await inProgress()
    ledger.ask('http://127.0.0.1:9')
    await expect(ledger.check()).rejects.toThrow(
      'arbitrum RPC at 127.0.0.1:9: the connection failed',
    )
    expect(await shown()).toMatchObject(unchanged)
    expect(await ledger.openFlags()).toEqual([])
  })

  test('serves another chain', async () => {
    await inProgress()
    const proxy = await startRpcProxy(chain.url, {
      change: ({ method }, answer) =>
        method === 'eth_chainId' ? answer.replace('0xa4b1', '0x1') : answer,
    })
    ledger.ask(proxy.url)
    await expect(ledger.check()).rejects.toThrow('of chain 1, not 42161')
    expect(await shown()).toMatchObject(unchanged)
    await proxy.stop()
  })

  test('has no contract at the address', async () => {
    await inProgress()
    const proxy = await startRpcProxy(chain.url, {
      change: ({ method }, answer) =>
        method === 'eth_getCode' ? answer.replace(/"0x\w+"/, '"0x"') : answer,
    })
    ledger.ask(proxy.url)
    await expect(ledger.check()).rejects.toThrow('no contract at the escrow address')
    expect(await shown()).toMatchObject(unchanged)
    await proxy.stop()
  })

  test('is hours behind', async () => {
    await inProgress()
    ledger.at((await chain.headTimeMs()) + 3 * hourMs)
    await expect(ledger.check()).rejects.toThrow(/is behind: its head \d+ is 180 minutes old/)
    expect(await shown()).toMatchObject(unchanged)
  })

  test('hides logs that getPact contradicts', async () => {
    await inProgress()
    const proxy = await startRpcProxy(chain.url, {
      change: ({ method }, answer) =>
        method === 'eth_getLogs' ? answer.replace(/"result":\[.*\]/, '"result":[]') : answer,
    })
    ledger.ask(proxy.url)
    await expect(ledger.check()).rejects.toThrow(`contradicts itself about pact ${id} at block`)
    expect(await shown()).toMatchObject(unchanged)
    expect(await ledger.openFlags()).toMatchObject([
      { subject: 'escrow', evidence: { contract: pactEscrow.address } },
    ])
    ledger.ask('http://127.0.0.1:9')
    await expect(ledger.check()).rejects.toThrow('the connection failed')
    expect(await ledger.openFlags()).toHaveLength(1)
    ledger.ask(chain.url)
    expect((await look()).phase).toBe('submitted')
    expect(await ledger.openFlags()).toEqual([])
    await proxy.stop()
  })

  test('reports completed but the logs show submitted', async () => {
    await inProgress()
    const proxy = await startRpcProxy(chain.url, {
      change: ({ method, params }, answer) =>
        method === 'eth_call' && JSON.stringify(params).includes(word(id))
          ? answer.replace(/1"(,|\})/, '2"$1')
          : answer,
    })
    ledger.ask(proxy.url)
    await expect(ledger.check()).rejects.toThrow('and getPact says Completed')
    expect(await shown()).toMatchObject(unchanged)
    await proxy.stop()
  })

  test('hides a pact that the next number reveals', async () => {
    await inProgress()
    await chain.create(deadlineMs, genesisMs + 3 * dayMs)
    ledger.at((await chain.headTimeMs()) + minuteMs)
    const hidden = id + 1
    const proxy = await startRpcProxy(chain.url, {
      change: ({ method }, answer) =>
        method === 'eth_getLogs' && answer.includes(word(hidden))
          ? answer.replace(/,\{[^{}]*"topics":\[[^\]]*\],[^{}]*\}\]\}?$/, ']}')
          : answer,
    })
    ledger.ask(proxy.url)
    await expect(ledger.check()).rejects.toThrow(`about pact ${hidden}`)
    expect(await shown()).toMatchObject(unchanged)
    await proxy.stop()
  })

  test('is not configured, and no escrow is reported', async () => {
    expect(await ledger.checkWithoutNode()).toContain('RPC_URL_ARBITRUM is not set')
    expect((await shown()).blocker).toBe('The ledger has not read the escrow yet.')
  })
})

function word(number: number): string {
  return number.toString(16).padStart(64, '0')
}
