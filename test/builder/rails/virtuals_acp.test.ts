import { encodeFunctionData, encodeFunctionResult, parseAbi, parseUnits, zeroAddress } from 'viem'
import type { Abi, Address } from 'viem'
import { expect, test } from 'vitest'

import {
  acpEscrowEvents,
  acpV1Events,
  jobManagerEvents,
  memoManagerEvents,
  virtualsAcp,
} from '../../../builder/rails/virtuals_acp.ts'
import { unknownFigures } from '../../../src/core/figures.ts'
import { dayMs } from '../../../src/core/time.ts'
import type { Anvil } from '../../support/anvil.ts'
import { volumes } from '../../support/figures.ts'
import { endMs, useRailChain } from '../../support/rail-chain.ts'
import { logOf, wallet } from '../../support/scripted-contract.ts'
import type { ScriptedLog } from '../../support/scripted-contract.ts'

const acpV1: Address = '0x6a1FE26D54ab0d3E1e3168f2e0c0cDa5cC0A0A4A'
const router: Address = '0xa6C9BA866992cfD7fd6460ba912bfa405adA9df0'
const escrow: Address = '0x238E541BfefD82238730D00a2208E5497F1832E0'
const usdc: Address = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
const jobManager = wallet(101)
const memoManager = wallet(102)
const client = wallet(1)
const selfDealer = wallet(2)
const clientV2 = wallet(3)
const provider = wallet(4)
const providerV2 = wallet(5)
const otherToken = wallet(77)

const calls = parseAbi([
  'function jobManager() view returns (address)',
  'function memoManager() view returns (address)',
  'function paymentToken() view returns (address)',
  'function jobs(uint256 jobId) view returns (uint256 id, address client, address provider, uint256 budget, uint256 amountClaimed, uint8 phase, uint256 memoCount, uint256 expiredAt, address evaluator, address jobPaymentToken)',
  'function payableDetails(uint256 memoId) view returns (address token, uint256 amount, address recipient, uint256 feeAmount, uint8 feeType, bool isExecuted, uint256 expiredAt, uint32 lzSrcEid, uint32 lzDstEid)',
  'struct Job { uint256 id; uint256 accountId; address client; address provider; address evaluator; address creator; uint256 budget; address paymentToken; uint8 phase; uint256 expiredAt; uint256 createdAt; uint256 memoCount; string metadata; uint256 amountClaimed; }',
  'function getJob(uint256 jobId) view returns (Job)',
])

function jobV1(jobId: bigint, from: Address, to: Address): ScriptedLog {
  return logOf(acpV1, acpV1Events, 'JobCreated', {
    jobId,
    client: from,
    provider: to,
    evaluator: zeroAddress,
  })
}
function claimed(jobId: bigint, to: Address, amount: string): ScriptedLog {
  const providerFee = parseUnits(amount, 6)
  return logOf(acpV1, acpV1Events, 'ClaimedProviderFee', { jobId, provider: to, providerFee })
}
function memo(memoId: bigint, amount: string, jobId = 7n): ScriptedLog {
  const args = { memoId, jobId, executor: clientV2, amount: parseUnits(amount, 6) }
  return logOf(memoManager, memoManagerEvents, 'PayableMemoExecuted', args)
}

function escrowed(jobId: bigint, from: Address): ScriptedLog {
  return logOf(escrow, acpEscrowEvents, 'JobFunded', { jobId, client: from, amount: 1n })
}
function released(jobId: bigint, to: Address, amount: string): ScriptedLog {
  const args = { jobId, provider: to, amount: parseUnits(amount, 6) }
  return logOf(escrow, acpEscrowEvents, 'PaymentReleased', args)
}

const jobV3 = logOf(escrow, acpEscrowEvents, 'JobCreated', {
  jobId: 7n,
  client,
  provider: providerV2,
  evaluator: client,
  expiredAt: 0n,
  hook: zeroAddress,
})
const jobV2 = logOf(jobManager, jobManagerEvents, 'JobCreated', {
  jobId: 7n,
  accountId: 1n,
  client: clientV2,
  provider: providerV2,
  evaluator: zeroAddress,
  expiredAt: 0n,
})

async function answerCall(
  anvil: Anvil,
  contract: Address,
  functionName: string,
  args: readonly unknown[],
  result: unknown,
): Promise<void> {
  const abi: Abi = calls
  const call = encodeFunctionData({ abi, functionName, args })
  await anvil.answer(contract, call, encodeFunctionResult({ abi, functionName, result }))
}

async function answer(anvil: Anvil): Promise<void> {
  await answerCall(anvil, router, 'jobManager', [], jobManager)
  await answerCall(anvil, router, 'memoManager', [], memoManager)
  await answerCall(anvil, acpV1, 'paymentToken', [], usdc)
  await answerCall(anvil, escrow, 'paymentToken', [], usdc)
  const jobs = [
    [1n, client, provider, usdc],
    [2n, selfDealer, selfDealer, zeroAddress],
    [3n, wallet(8), provider, otherToken],
    [9n, wallet(8), provider, zeroAddress],
  ] as const
  for (const [id, from, to, token] of jobs) {
    const record = [id, from, to, 1n, 1n, 4, 2n, 0n, zeroAddress, token]
    await answerCall(anvil, acpV1, 'jobs', [id], record)
  }
  const memos = [
    [50n, usdc, providerV2],
    [51n, usdc, clientV2],
    [52n, otherToken, providerV2],
    [53n, usdc, wallet(55)],
  ] as const
  for (const [memoId, token, recipient] of memos) {
    const details = [token, 1n, recipient, 0n, 0, true, 0n, 0, 0]
    await answerCall(anvil, memoManager, 'payableDetails', [memoId], details)
  }
  const job = {
    id: 7n,
    accountId: 1n,
    client: clientV2,
    provider: providerV2,
    evaluator: zeroAddress,
    creator: clientV2,
    budget: 1n,
    paymentToken: usdc,
    phase: 3,
    expiredAt: 0n,
    createdAt: 0n,
    memoCount: 3n,
    metadata: 'a text of some length, so that the record ends in a dynamic part',
    amountClaimed: 0n,
  }
  const selfDealt = { ...job, id: 8n, client: selfDealer, provider: selfDealer }
  for (const record of [job, selfDealt]) {
    await answerCall(anvil, jobManager, 'getJob', [record.id], record)
  }
}

const contracts = [acpV1, router, jobManager, memoManager, escrow]
const chain = useRailChain('base', contracts, async (anvil) => {
  await answer(anvil)
  await anvil.block(endMs - 31 * dayMs, [
    jobV1(9n, wallet(8), provider),
    claimed(9n, provider, '40'),
  ])
  await anvil.block(
    endMs - 20 * dayMs,
    [jobV1(1n, client, provider)],
    [claimed(1n, provider, '10')],
  )
  await anvil.block(endMs - 19 * dayMs, [jobV1(2n, selfDealer, selfDealer)])
  await anvil.block(endMs - 18 * dayMs, [claimed(2n, selfDealer, '100')])
  await anvil.block(endMs - 5 * dayMs, [
    // 0.0009 of a token with 18 decimals, whose job was opened before the window
    claimed(3n, provider, '900000000'),
  ])
  await anvil.block(endMs - 4 * dayMs, [jobV2])
  await anvil.block(endMs - 3 * dayMs, [
    memo(50n, '4'),
    memo(51n, '3'),
    memo(52n, '8000'),
    memo(53n, '6', 8n),
  ])
  await anvil.block(
    endMs - 2 * dayMs,
    // The job 7 of the current escrow is not the job 7 of v2.
    [jobV3, escrowed(7n, client), escrowed(8n, selfDealer)],
    // Job 6 was funded before the first block that is read.
    [released(7n, providerV2, '2'), released(8n, selfDealer, '50'), released(6n, provider, '1.5')],
  )
})

test('the Virtuals rail adds payments of the current escrow, fees of v1 and memos of v2, without amounts that no provider earned or that are no USDC', async () => {
  const { measurement } = await chain.poll(virtualsAcp)
  expect(measurement.figures).toEqual({
    ...unknownFigures,
    // 10 + 4 + 2 + 1.5; raw also 100 + 3 + 6 + 50: amounts in other tokens are no part of it
    ...volumes(17_500_000, 7_500_000, 176_500_000, 66_500_000),
    uniqueCreators30d: 2,
    uniqueWorkers30d: 2,
    // 10 + 1.5 of 17.5
    topWorkerShare: 0.657142,
    activity30d: 4,
    lastPayoutAtMs: endMs - 2 * dayMs,
  })
  expect(measurement.removed30d).toEqual({ not_usdc: 2, self_dealing: 3, to_client: 1 })
  expect(measurement.notes).toEqual([
    `Paid in 30 days: 3.5 USDC (payments: 2) by the current escrow ${escrow}, 14 USDC (payments: 2) by the legacy contracts.`,
    'Jobs opened in 30 days: 3.',
    'Further jobs that name one wallet as client and provider: 1.',
    'The funders of payers are not looked up: no node is configured for base (RPC_URL_BASE).',
  ])
})

test('the Virtuals rail removes payments of the current escrow in another token', async () => {
  await chain.undone(async () => {
    await answerCall(chain.anvil(), escrow, 'paymentToken', [], otherToken)
    const { measurement } = await chain.poll(virtualsAcp)
    expect(measurement.figures).toMatchObject(
      volumes(14_000_000, 4_000_000, 123_000_000, 13_000_000),
    )
    expect(measurement.removed30d).toEqual({ not_usdc: 5, self_dealing: 2, to_client: 1 })
  })
})

test('the Virtuals rail fails where the router names no module', async () => {
  await chain.undone(async () => {
    await answerCall(chain.anvil(), router, 'memoManager', [], zeroAddress)
    await expect(chain.poll(virtualsAcp)).rejects.toThrow('ACP v2 names no memoManager')
  })
})
