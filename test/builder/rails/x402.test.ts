import { parseAbi } from 'viem'
import type { Address } from 'viem'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { batchCollector, batchEscrow, channelEvents } from '../../../builder/rails/x402-channels.ts'
import {
  permit2Proxies,
  proxyEvents,
  usdcEvents,
  x402,
  x402Polygon,
} from '../../../builder/rails/x402.ts'
import { unknownFigures } from '../../../src/core/figures.ts'
import { dayMs, hourMs } from '../../../src/core/time.ts'
import { tempDatabase } from '../../db/temp-database.ts'
import { volumes } from '../../support/figures.ts'
import { useLocalServer } from '../../support/local-server.ts'
import { endMs, useRailChain } from '../../support/rail-chain.ts'
import { proxyDuringTest } from '../../support/rpc-proxy.ts'
import { logOf, wallet, word } from '../../support/scripted-contract.ts'
import type { ScriptedLog } from '../../support/scripted-contract.ts'

const usdc: Address = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
const nextEndMs = endMs + 6 * hourMs

const apiOne = wallet(1)
const apiTwo = wallet(2)
const other = wallet(3)
const unlisted = wallet(4)
const buyer = wallet(5)
const secondBuyer = wallet(6)
/** Two addresses of the list of facilitators, the second also sells. */
const facilitator: Address = '0x73b2b8df52fbe7c40fe78db52e3dffdd5db5ad07'
const sellingFacilitator: Address = '0x179761d9eed0f0d1599330cc94b0926e68ae87f1'

let nonces = 0
function transfer(from: Address, to: Address, usdcCents: number, token = usdc): ScriptedLog {
  return logOf(token, usdcEvents, 'Transfer', { from, to, value: BigInt(usdcCents) * 10_000n })
}
function paid(from: Address, to: Address, usdcCents: number, token = usdc): readonly ScriptedLog[] {
  nonces += 1
  const used = logOf(token, usdcEvents, 'AuthorizationUsed', {
    authorizer: from,
    nonce: word(nonces),
  })
  return [used, transfer(from, to, usdcCents, token)]
}

/** A settlement with Permit2: the event of the proxy follows the transfer. */
function settled(scheme: 0 | 1, from: Address, to: Address, usdcCents: number) {
  const proxy = permit2Proxies[scheme] ?? usdc
  const eventName = scheme === 0 ? 'Settled' : 'SettledWithPermit'
  return [transfer(from, to, usdcCents), logOf(proxy, proxyEvents, eventName, {})]
}

/** Opens a channel with a deposit of 90 USDC by EIP-3009 through the collector, unless `deposit` is another. */
function opened(
  channel: number,
  payer: Address,
  receiver: Address,
  { token = usdc, deposit = collected(payer) }: { token?: Address; deposit?: ScriptedLog[] } = {},
): readonly ScriptedLog[] {
  const config = {
    payer,
    payerAuthorizer: payer,
    receiver,
    receiverAuthorizer: receiver,
    token,
    withdrawDelay: 900,
    salt: word(channel),
  }
  const event = { channelId: word(channel), config }
  return [...deposit, logOf(batchEscrow, channelEvents, 'ChannelCreated', event)]
}
function collected(payer: Address): ScriptedLog[] {
  const [used, moved] = paid(payer, batchCollector, 9_000)
  return [used, moved, transfer(batchCollector, batchEscrow, 9_000)].filter(
    (log) => log !== undefined,
  )
}
function claimed(channel: number, usdcCents: number): ScriptedLog {
  const claimAmount = BigInt(usdcCents) * 10_000n
  const sums = { claimAmount, newTotalClaimed: claimAmount }
  return logOf(batchEscrow, channelEvents, 'Claimed', {
    channelId: word(channel),
    sender: facilitator,
    ...sums,
  })
}
const escrowSettled = parseAbi([
  'event Settled(address indexed receiver, address indexed token, address indexed sender, uint128 amount)',
])
/** The escrow pays out what was claimed. */
function paidOut(receiver: Address, usdcCents: number): readonly ScriptedLog[] {
  const args = { receiver, token: usdc, sender: facilitator, amount: BigInt(usdcCents) * 10_000n }
  return [
    transfer(batchEscrow, receiver, usdcCents),
    logOf(batchEscrow, escrowSettled, 'Settled', args),
  ]
}

/** v1 and v2 names of the network, a testnet, another chain, another asset, and entries that cannot be read. */
const listed = [
  {
    resource: 'https://API.example/one',
    accepts: [offer('base', apiOne), offer('solana', 'So1anaWa11et')],
  },
  { resource: 'https://api.example/two', accepts: [offer('eip155:8453', apiTwo)] },
  { resource: 'https://api.example/three', accepts: [offer('base', apiTwo)] },
  { resource: 'https://aa.example/shared', accepts: [offer('base', apiTwo)] },
  {
    resource: 'https://other.example/',
    accepts: [offer('base', other.toUpperCase().replace('0X', '0x'))],
  },
  { resource: 'https://selling.example/', accepts: [offer('base', sellingFacilitator)] },
  { resource: 'https://test.example/', accepts: [offer('base-sepolia', unlisted)] },
  { resource: 'https://dai.example/', accepts: [{ ...offer('base', unlisted), asset: wallet(9) }] },
  { resource: 'https://nowallet.example/', accepts: [{ network: 'base', asset: usdc }] },
  { resource: 'no address', accepts: [] },
]
function offer(network: string, payTo: string) {
  return { scheme: 'exact', network, asset: usdc, payTo }
}

let items: readonly unknown[] = listed
const bazaar = useLocalServer((_, response) => {
  const pagination = { limit: 1000, offset: 0, total: items.length }
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ x402Version: 2, items, pagination }))
})

const chain = useRailChain('base', [usdc, batchEscrow, ...permit2Proxies], async (anvil) => {
  await anvil.block(endMs - 35 * dayMs, paid(buyer, apiOne, 500))
  await anvil.block(endMs - 20 * dayMs, paid(buyer, apiOne, 150), [
    transfer(secondBuyer, apiOne, 25),
  ])
  await anvil.block(endMs - 10 * dayMs, paid(secondBuyer, other, 200))
  await anvil.block(
    endMs - 3 * dayMs,
    paid(buyer, apiTwo, 75),
    paid(apiOne, apiOne, 900),
    paid(facilitator, sellingFacilitator, 400),
  )
  await anvil.block(
    endMs - 2 * dayMs,
    paid(apiTwo, apiOne, 100),
    paid(secondBuyer, other, 15_000),
    [...paid(secondBuyer, other, 50), transfer(secondBuyer, other, 50)],
  )
  await anvil.block(endMs - dayMs, paid(buyer, unlisted, 700))
})

describe('x402 on Base', () => {
  test('listed wallets of any length do not stay in memory', async () => {
    // The module that the program loads; `exports` of the package hides it.
    const file = new URL('utils/address/isAddress.js', import.meta.resolve('viem'))
    const { isAddressCache } = z
      .object({ isAddressCache: z.instanceof(Map<string, boolean>) })
      .parse(await import(file.href))
    items = [{ resource: 'https://long.example/', accepts: [offer('base', 'x'.repeat(100_000))] }]
    await chain.poll(x402, { baseUrl: bazaar.url }).catch(() => null)
    items = listed
    expect([...isAddressCache.keys()].filter((text) => text.length > 100)).toEqual([])
  })

  test('x402 on Base counts payments to Bazaar sellers by authorization, before and after the rule', async () => {
    const { measurement } = await chain.poll(x402, { baseUrl: bazaar.url })
    // 1.50 + 2.00 + 0.75 + 0.50, in 7 days 0.75 + 0.50; raw also 0.25 + 9 + 4 + 1 + 150 + 0.50.
    expect(measurement.figures).toEqual({
      ...unknownFigures,
      ...volumes(4_750_000, 1_250_000, 169_500_000, 165_750_000),
      uniqueCreators30d: 2,
      // api.example runs two wallets, other.example one.
      uniqueWorkers30d: 2,
      // 2.50 of 4.75
      topWorkerShare: 0.526315,
      activity30d: 4,
      lastPayoutAtMs: endMs - 2 * dayMs,
    })
    expect(measurement.removed30d).toEqual({
      above_ceiling: 1,
      between_facilitators: 1,
      no_authorization: 2,
      same_operator: 1,
      self_payment: 1,
    })
    expect(measurement.notes).toContain('4 seller wallets on Base in 10 listed resources.')
    expect(measurement.notes).toContain('2 entries of the list could not be read and are excluded.')
    expect(measurement.evidence.map(({ kind }) => kind)).toEqual(['http', 'logs', 'logs'])
  })

  test('x402 on Base reads only the newest blocks again in the second poll, and adds new payments', async () => {
    await chain.undone(async () => {
      const proxy = await proxyDuringTest(chain.anvil().url)
      const poll = { database: await tempDatabase(), rpcUrl: proxy.url, baseUrl: bazaar.url }
      await chain.poll(x402, poll)
      const readTo = Math.max(...proxy.ranges().map(({ to }) => to))
      await chain.anvil().block(endMs + hourMs, paid(buyer, other, 30))
      await chain.settle(nextEndMs)
      const before = proxy.ranges().length
      const { measurement } = await chain.poll(x402, { ...poll, endMs: nextEndMs })
      const ranges = proxy.ranges().slice(before)
      expect(Math.min(...ranges.map(({ from }) => from))).toBe(readTo)
      expect(measurement.figures.tpv30dMicroUsdc).toBe(5_050_000)
      expect(measurement.figures.lastPayoutAtMs).toBe(endMs + hourMs)
    })
  })

  test('x402 on Base counts settlements with Permit2, and no other transfer of their transaction', async () => {
    await chain.undone(async () => {
      const before = await chain.poll(x402, { baseUrl: bazaar.url })
      await chain
        .anvil()
        .block(
          endMs + hourMs,
          [transfer(buyer, other, 60), ...settled(0, buyer, other, 11)],
          settled(1, secondBuyer, other, 7),
        )
      await chain.settle(nextEndMs)
      const after = await chain.poll(x402, { baseUrl: bazaar.url, endMs: nextEndMs })
      const grown = (name: 'tpv30dMicroUsdc' | 'tpv30dRawMicroUsdc') =>
        (after.measurement.figures[name] ?? 0) - (before.measurement.figures[name] ?? 0)
      expect([grown('tpv30dMicroUsdc'), grown('tpv30dRawMicroUsdc')]).toEqual([180_000, 780_000])
    })
  })

  test('x402 on Base counts claims of batch settlement by the payer of their channel, and no settlement or refund', async () => {
    await chain.undone(async () => {
      const before = await chain.poll(x402, { baseUrl: bazaar.url })
      const byPermit2 = [transfer(unlisted, batchEscrow, 500)]
      await chain.anvil().block(
        endMs + hourMs,
        // An emptied channel is opened again by its next deposit, here by two of a stranger.
        opened(1, buyer, other, { deposit: byPermit2 }),
        opened(1, buyer, other),
        opened(1, buyer, other, { deposit: byPermit2 }),
        opened(2, unlisted, other, { deposit: byPermit2 }),
        [claimed(1, 30), claimed(2, 4)],
        paidOut(other, 34),
        // The rest of a channel goes back to its payer, who is a seller as well.
        opened(3, apiOne, other),
        [claimed(3, 2), transfer(batchEscrow, apiOne, 8_998)],
      )
      await chain.anvil().block(endMs + 2 * hourMs, [claimed(1, 20)])
      await chain.settle(nextEndMs)
      const stranger = {
        resource: 'https://stranger.example/',
        accepts: [offer('base', batchCollector), offer('base', batchEscrow)],
      }
      items = [...listed, stranger]
      const { measurement } = await chain.poll(x402, { baseUrl: bazaar.url, endMs: nextEndMs })
      items = listed
      const { figures, removed30d } = measurement
      const grown = (name: 'tpv30dMicroUsdc' | 'tpv30dRawMicroUsdc' | 'activity30d') =>
        (figures[name] ?? 0) - (before.measurement.figures[name] ?? 0)
      // 0.30 + 0.04 + 0.02 + 0.20
      expect([grown('tpv30dMicroUsdc'), grown('tpv30dRawMicroUsdc')]).toEqual([560_000, 560_000])
      expect([grown('activity30d'), figures.uniqueCreators30d]).toEqual([4, 4])
      expect(figures.lastPayoutAtMs).toBe(endMs + 2 * hourMs)
      expect(removed30d).toEqual(before.measurement.removed30d)
    })
  })

  test('x402 on Base knows the channels of earlier polls', async () => {
    await chain.undone(async () => {
      const poll = { database: await tempDatabase(), baseUrl: bazaar.url }
      await chain.anvil().block(endMs + hourMs, opened(1, buyer, other), [claimed(1, 30)])
      await chain.settle(nextEndMs)
      const before = await chain.poll(x402, { ...poll, endMs: nextEndMs })
      const laterMs = nextEndMs + 6 * hourMs
      await chain.anvil().block(nextEndMs + hourMs, [claimed(1, 20), claimed(2, 7)])
      await chain.settle(laterMs)
      const { measurement } = await chain.poll(x402, { ...poll, endMs: laterMs })
      const grown = (name: 'tpv30dMicroUsdc' | 'tpv30dRawMicroUsdc') =>
        (measurement.figures[name] ?? 0) - (before.measurement.figures[name] ?? 0)
      expect([grown('tpv30dMicroUsdc'), grown('tpv30dRawMicroUsdc')]).toEqual([200_000, 200_000])
      expect(measurement.removed30d).toEqual({
        ...before.measurement.removed30d,
        unknown_channel: 1,
      })
    })
  })

  test('x402 on Base removes claims whose payer is the seller, a colleague or unproved, and large ones', async () => {
    await chain.undone(async () => {
      // Deposits of another wallet in the name of the buyer.
      const [byAuthorization, direct] = [
        { deposit: collected(unlisted) },
        { deposit: [...collected(buyer), transfer(unlisted, batchEscrow, 100)] },
      ]
      await chain.anvil().block(
        endMs + hourMs,
        opened(1, apiOne, apiOne),
        opened(2, apiOne, apiTwo),
        opened(3, buyer, other),
        opened(4, buyer, other, byAuthorization),
        opened(5, buyer, other, direct),
        opened(6, buyer, unlisted),
        opened(7, buyer, other, { token: wallet(9) }),
        [1, 2, 4, 5, 6, 7].map((channel) => claimed(channel, 100)),
        [claimed(3, 10_001), claimed(3, 10_000)],
      )
      await chain.settle(nextEndMs)
      const before = await chain.poll(x402, { baseUrl: bazaar.url })
      const { measurement } = await chain.poll(x402, { baseUrl: bazaar.url, endMs: nextEndMs })
      expect(measurement.removed30d).toEqual({
        above_ceiling: 2,
        between_facilitators: 1,
        no_authorization: 4,
        same_operator: 2,
        self_payment: 2,
      })
      const grown = (name: 'tpv30dMicroUsdc' | 'tpv30dRawMicroUsdc') =>
        (measurement.figures[name] ?? 0) - (before.measurement.figures[name] ?? 0)
      // 100.00 + 100.01 + 4 times 1.00
      expect([grown('tpv30dMicroUsdc'), grown('tpv30dRawMicroUsdc')]).toEqual([
        100_000_000, 204_010_000,
      ])
    })
  })

  test('x402 on Base keeps a wallet with its host, however often a stranger lists it', async () => {
    const poll = { database: await tempDatabase(), baseUrl: bazaar.url }
    const before = await chain.poll(x402, poll)
    const strangers = [1, 2, 3].map((at) => ({
      resource: `https://stranger.example/${at}`,
      accepts: [offer('base', apiTwo)],
    }))
    items = [...listed, ...strangers]
    const after = await chain.poll(x402, poll)
    items = listed
    expect(after.measurement.figures).toEqual(before.measurement.figures)
  })

  test('x402 on Base fails where the Bazaar lists no seller', async () => {
    items = []
    await expect(chain.poll(x402, { baseUrl: bazaar.url })).rejects.toThrow(
      'the Bazaar lists no seller on Base',
    )
    items = listed
  })
})

const polygonUsdc: Address = '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359'
const polygon = useRailChain('polygon', [usdc, polygonUsdc, ...permit2Proxies], async (anvil) => {
  await anvil.block(endMs - 3 * dayMs, paid(buyer, apiOne, 75, polygonUsdc), paid(buyer, other, 40))
})

test('x402 on Polygon counts its own USDC to its own sellers', async () => {
  const onPolygon = { ...offer('eip155:137', apiOne), asset: polygonUsdc }
  items = [...listed, { resource: 'https://polygon.example/', accepts: [onPolygon] }]
  const { measurement } = await polygon.poll(x402Polygon, { baseUrl: bazaar.url })
  items = listed
  expect(measurement.figures).toMatchObject(volumes(750_000, 750_000))
  expect(measurement.notes).toContain('1 seller wallets on Polygon in 11 listed resources.')
})
