import { concat, keccak256, pad, slice, stringToHex } from 'viem'
import type { Address } from 'viem'
import { expect, test } from 'vitest'

import { channelEvents, mpp, tip20Events } from '../../../builder/rails/mpp.ts'
import { dayMs } from '../../../src/core/time.ts'
import { volumes } from '../../support/figures.ts'
import { endMs, useRailChain } from '../../support/rail-chain.ts'
import { logOf, wallet, word } from '../../support/scripted-contract.ts'
import type { ScriptedLog } from '../../support/scripted-contract.ts'

const usdc: Address = '0x20C000000000000000000000b9537d11c60E8b50'
const pathUsd: Address = '0x20c0000000000000000000000000000000000000'
const reserve: Address = '0x4d50500000000000000000000000000000000000'
const oldEscrow: Address = '0x33b901018174DDabE4841042ab76ba85D4e24f25'
const swap: Address = '0xd588ED9Ae08643A450157Adaf61c3C0C1BBd0dbb'
const [service, secondService, buyer, secondBuyer] = [1, 2, 3, 4].map(wallet)
/** As the SDK encodes it: tag, version, server, client and nonce. */
const memo = pad(concat([slice(keccak256(stringToHex('mpp')), 0, 4), '0x01', '0xabcd']), {
  dir: 'right',
})

function charge(token: Address, from: Address | undefined, amount: bigint, text = memo) {
  return logOf(token, tip20Events, 'TransferWithMemo', { from, to: service, amount, memo: text })
}
function transfer(escrow: Address, to: Address | undefined, amount: bigint): ScriptedLog {
  return logOf(usdc, tip20Events, 'Transfer', { from: escrow, to, amount })
}
const [settledPrecompile, settledOld, closedPrecompile] = channelEvents
function settled(escrow: Address, payer: Address | undefined, payee: Address | undefined) {
  const abi = [escrow === reserve ? settledPrecompile : settledOld] as const
  const amounts = { cumulativeAmount: 9n, deltaPaid: 9n, newSettled: 9n }
  return logOf(escrow, abi, 'Settled', { channelId: word(1), payer, payee, ...amounts })
}
function closed(payer: Address | undefined, payee: Address | undefined) {
  const amounts = { settledToPayee: 9n, refundedToPayer: 9n }
  const args = { channelId: word(1), payer, payee, ...amounts }
  return logOf(reserve, [closedPrecompile], 'ChannelClosed', args)
}

const chain = useRailChain('tempo', [usdc, pathUsd, reserve, oldEscrow], async (anvil) => {
  await anvil.block(endMs - 40 * dayMs + 1000, [charge(usdc, buyer, 70_000_000n)])
  await anvil.block(
    endMs - 20 * dayMs,
    [charge(usdc, buyer, 1_000_000n)],
    [charge(pathUsd, secondBuyer, 200_000n)],
    // A memo of something else, a memo of another version, and a service that pays itself.
    [charge(usdc, buyer, 5_000_000n, word(7))],
    [charge(usdc, buyer, 5_000_000n, `0x${memo.slice(2, 10)}02${memo.slice(12)}`)],
    [charge(usdc, service, 3_000_000n)],
  )
  await anvil.block(
    endMs - 3 * dayMs,
    [charge(usdc, swap, 30_000n)],
    [transfer(oldEscrow, service, 400_000n), settled(oldEscrow, buyer, service)],
    // One transaction closes a channel that the second service had opened itself, and then settles one to it:
    // the refund is no payment, however it is placed.
    [
      transfer(reserve, service, 7_000n),
      transfer(reserve, secondService, 90_000_000n),
      closed(secondService, service),
      transfer(reserve, secondService, 50_000n),
      settled(reserve, buyer, secondService),
    ],
    [transfer(reserve, secondService, 80_000_000n), closed(secondService, service)],
    [transfer(reserve, buyer, 6_000_000n)],
  )
})

test('MPP counts charges with its memo and sums settled from channels, not refunds', async () => {
  const { measurement } = await chain.poll(mpp)
  expect(measurement.figures).toMatchObject({
    // 1.00 + 0.20 and, in 7 days, 0.03 + 0.40 + 0.05 + 0.007; raw also 3.00
    ...volumes(1_687_000, 487_000, 4_687_000, 487_000),
    // Both buyers and the second service; the payer behind the swap is unknown.
    uniqueCreators30d: 3,
    uniqueWorkers30d: 2,
    activity30d: 6,
    lastPayoutAtMs: endMs - 3 * dayMs,
  })
  expect(measurement.removed30d).toEqual({ self_payment: 1 })
})
