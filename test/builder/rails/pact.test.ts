import { encodeAbiParameters, encodeFunctionData, parseAbi, parseUnits, zeroAddress } from 'viem'
import type { Address } from 'viem'
import { expect, test } from 'vitest'

import { escrowEvents, pact } from '../../../builder/rails/pact.ts'
import { usdcEvents as erc20Events } from '../../../builder/rails/x402.ts'
import { unknownFigures } from '../../../src/core/figures.ts'
import { dayMs, hourMs } from '../../../src/core/time.ts'
import { tempDatabase } from '../../db/temp-database.ts'
import type { Anvil } from '../../support/anvil.ts'
import { endMs, useRailChain } from '../../support/rail-chain.ts'
import { logOf, wallet, word } from '../../support/scripted-contract.ts'
import type { ScriptedLog } from '../../support/scripted-contract.ts'

const escrow: Address = '0x220B97972d6028Acd70221890771E275e7734BFB'
const token: Address = '0x809c2540358E2cF37050cCE41A610cb6CE66Abe1'
const creator = wallet(1)
const selfDealer = wallet(2)
const worker = wallet(3)
const secondWorker = wallet(4)
const arbitrator = wallet(5)

function created(pactId: number, from: Address, to: Address): ScriptedLog {
  return logOf(escrow, escrowEvents, 'PactCreated', {
    pactId: BigInt(pactId),
    creator: from,
    recipient: to,
    arbitrator: zeroAddress,
    amount: 1n,
    arbitratorFee: 0n,
    deadline: 0n,
    disputeWindow: 0n,
    arbitrationWindow: 0n,
  })
}
function approved(pactId: number): ScriptedLog {
  return logOf(escrow, escrowEvents, 'PactApproved', { pactId: BigInt(pactId), creator })
}
function released(pactId: number): ScriptedLog {
  return logOf(escrow, escrowEvents, 'PactReleased', {
    pactId: BigInt(pactId),
    recipient: worker,
    amount: 77n,
  })
}
function moved(to: Address, amount: string): ScriptedLog {
  return logOf(token, erc20Events, 'Transfer', { from: escrow, to, value: parseUnits(amount, 18) })
}

const getPact = parseAbi(['function getPact(uint256 pactId) view'])
async function keep(anvil: Anvil, pactId: number, from: Address, to: Address): Promise<void> {
  const record = `(address, address, address, uint256, uint256, uint256, uint256, uint256, uint256, uint256, bytes32, uint8)`
  const [{ inputs }] = parseAbi([`function f(${record} record)`])
  const answer = encodeAbiParameters(inputs, [
    [from, to, zeroAddress, 1n, 0n, 0n, 0n, 0n, 0n, 0n, word(0), 2],
  ])
  await anvil.answer(escrow, encodeFunctionData({ abi: getPact, args: [BigInt(pactId)] }), answer)
}

const chain = useRailChain('arbitrum', [escrow, token], async (anvil) => {
  await keep(anvil, 12, creator, worker)
  await keep(anvil, 13, creator, worker)
  await keep(anvil, 14, selfDealer, selfDealer)
  await keep(anvil, 15, creator, secondWorker)
  await anvil.block(endMs - 21 * dayMs, [created(12, creator, worker)])
  await anvil.block(
    endMs - 20 * dayMs,
    [approved(12), moved(worker, '1500')],
    [released(12), moved(worker, '1500')],
  )
  await anvil.block(endMs - 10 * dayMs, [approved(13)])
  await anvil.block(endMs - 9 * dayMs, [moved(worker, '500'), released(13)])
  await anvil.block(
    endMs - 5 * dayMs,
    [approved(14), moved(selfDealer, '100')],
    [moved(wallet(9), '3')],
  )
  await anvil.block(endMs - 3 * dayMs, [
    moved(arbitrator, '50'),
    moved(secondWorker, '200'),
    approved(15),
  ])
})

test('the PACT rail counts each pact once, by the PACT that its recipient received, without a volume', async () => {
  const { measurement } = await chain.poll(pact)
  expect(measurement.figures).toEqual({
    ...unknownFigures,
    uniqueCreators30d: 1,
    uniqueWorkers30d: 2,
    // 1500 + 500 of 2200 PACT
    topWorkerShare: 0.90909,
    activity30d: 3,
    lastPayoutAtMs: endMs - 3 * dayMs,
  })
  expect(measurement.removed30d).toEqual({ self_dealing: 1 })
  expect(measurement.notes).toEqual([
    'Pacts created in 30 days: 1.',
    '2200 PACT paid in 30 days (pacts: 3); no price rule, so the volume in USDC is unknown.',
  ])
})

test('the PACT rail does not count a pact again that an earlier poll counted', async () => {
  const database = await tempDatabase()
  await chain.poll(pact, { database })
  const laterMs = endMs + 6 * hourMs
  await chain.anvil().block(endMs + hourMs, [released(15), moved(secondWorker, '200')])
  await chain.settle(laterMs)
  const { measurement } = await chain.poll(pact, { endMs: laterMs, database })
  expect(measurement.figures.activity30d).toBe(3)
  expect(measurement.figures.lastPayoutAtMs).toBe(endMs - 3 * dayMs)
})
