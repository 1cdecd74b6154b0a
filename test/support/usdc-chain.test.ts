import { afterAll, beforeAll, expect, it } from 'vitest'

import { allowSlowTests } from './slow-tests.ts'
import { startUsdcChain, usdcAbi, usdcAddress } from './usdc-chain.ts'
import type { UsdcChain } from './usdc-chain.ts'
import { chainAccount, settlementCall, signAuthorization } from './x402-payment.ts'

allowSlowTests('starts anvil')

let chain: UsdcChain
const payer = chainAccount('payer')
const receiver = chainAccount('receiver').address

beforeAll(async () => {
  chain = await startUsdcChain()
})

afterAll(async () => {
  await chain.stop()
})

it('is Base, with the token that wallets sign for', async () => {
  const read = async (functionName: 'DOMAIN_SEPARATOR' | 'name' | 'version' | 'decimals') =>
    await chain.client.readContract({ address: usdcAddress, abi: usdcAbi, functionName })
  expect(await chain.client.getChainId()).toBe(8453)
  expect(await read('DOMAIN_SEPARATOR')).toBe(
    '0x02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f',
  )
  expect([await read('name'), await read('version'), await read('decimals')]).toEqual([
    'USD Coin',
    '2',
    6,
  ])
})

it('settles a signed authorization once, and tells what happened', async () => {
  const restore = await chain.snapshot()
  await chain.mint(payer.address, 5000n)
  const signed = await signAuthorization(payer, { to: receiver, value: 2000n })
  const hash = await chain.call(settlementCall(signed))
  expect(await chain.usedAuthorizations()).toEqual([
    { authorizer: payer.address, nonce: signed.authorization.nonce, transaction: hash },
  ])
  await chain.call(settlementCall(signed))
  expect(await chain.balanceOf(payer.address)).toBe(3000n)
  expect(await chain.balanceOf(receiver)).toBe(2000n)
  const { from } = await chain.client.getTransaction({ hash })
  expect((await chain.sentBy(from)).map(({ succeeded }) => succeeded)).toEqual([true, false])
  await restore()
  expect(await chain.balanceOf(payer.address)).toBe(0n)
})

it('can hold transactions back, and forget them in a reorganisation', async () => {
  const restore = await chain.snapshot()
  await chain.automine(false)
  await chain.mint(payer.address, 7n)
  expect(await chain.balanceOf(payer.address)).toBe(0n)
  await chain.mine()
  expect(await chain.balanceOf(payer.address)).toBe(7n)
  await chain.reorg(1)
  expect(await chain.balanceOf(payer.address)).toBe(0n)
  await restore()
})

it('runs several calls in one with Multicall3', async () => {
  const contract = { address: usdcAddress, abi: usdcAbi } as const
  const answers = await chain.client.multicall({
    multicallAddress: '0xcA11bde05977b3631167028862bE2a173976CA11',
    contracts: [
      { ...contract, functionName: 'name' },
      { ...contract, functionName: 'decimals' },
    ],
  })
  expect(answers.map(({ result }) => result)).toEqual(['USD Coin', 6])
})

it('does not run ahead of the time when blocks are mined fast', async () => {
  for (let block = 0; block < 50; block += 1) await chain.mint(payer.address, 1n)
  const { timestamp } = await chain.client.getBlock()
  expect(Number(timestamp)).toBeLessThanOrEqual(Math.ceil(Date.now() / 1000) + 1)
})
