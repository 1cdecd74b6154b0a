import { encodeAbiParameters, encodeFunctionData, parseAbi } from 'viem'
import type { Address } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { checkAgents } from '../../builder/jobs/agents.ts'
import { createSources } from '../../builder/rails/sources.ts'
import { worker } from '../../src/contract/schemas/worker.ts'
import { dayMs } from '../../src/core/time.ts'
import { startAnvil } from '../support/anvil.ts'
import type { Anvil } from '../support/anvil.ts'
import { registrationBody } from '../support/requests.ts'
import { proxyDuringTest, rpcError } from '../support/rpc-proxy.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { useService } from '../support/use-service.ts'
import { evmWallet } from '../support/wallets.ts'

allowSlowTests('starts anvil')

const registry: Address = '0x8004A169FB4a3325136EB29fA0ceB6D2e539a432'
const abi = parseAbi(['function getAgentWallet(uint256) view returns (address)'])
const [alice, bob] = [evmWallet('alice'), evmWallet('bob')]

const service = useService()
let anvil: Anvil
beforeAll(async () => {
  anvil = await startAnvil(8453, Date.UTC(2026, 10, 1))
  await anvil.place(registry)
})
afterAll(() => anvil.stop())

async function setWallet(agentId: bigint, address: string): Promise<void> {
  const wallet = encodeAbiParameters([{ type: 'address' }], [`0x${address.slice(2)}`])
  await anvil.answer(registry, encodeFunctionData({ abi, args: [agentId] }), wallet)
}

async function register(erc8004: string, who = alice): Promise<number> {
  service.clock.advance(1)
  const skills = [...service.actions.reference().skills].slice(0, 1)
  const body = await registrationBody(service, who, { skills, erc8004 })
  return (await service.postJson('/api/v1/workers/register', body)).status
}

async function check(rpcUrls: object = { base: anvil.url }): Promise<number> {
  const { database, random } = service.actions
  const { clock } = service
  const options = { fetch, clock, random, userAgent: 'test', railBaseUrls: new Map(), rpcUrls }
  const { signal } = new AbortController()
  return await checkAgents({ database, clock, signal, sources: createSources(options) })
}

async function shown() {
  const { body } = await service.getJson(`/api/v1/workers/${alice.address}`)
  return worker.strict().parse(body).erc8004
}

test('an agent is confirmed when the registry names the wallet of the worker, and read again every day', async () => {
  await setWallet(7n, alice.address)
  expect(await register('eip155:8453:7')).toBe(201)
  expect(await shown()).toEqual({ id: 'eip155:8453:7', state: 'not_checked' })
  expect(await check()).toBe(1)
  expect(await shown()).toMatchObject({ id: 'eip155:8453:7', state: 'confirmed' })
  const page = await (await fetch(`${service.url}/workers/${alice.address}.md`)).text()
  expect(page).toContain('confirmed: the registry names this wallet')

  await setWallet(7n, bob.address)
  expect(await check()).toBe(0)
  service.clock.advance(dayMs)
  expect(await check()).toBe(1)
  expect(await shown()).toMatchObject({ state: 'other_wallet' })
})

test('an agent without a wallet is not confirmed, and another registration is checked anew', async () => {
  await setWallet(8n, `0x${'0'.repeat(40)}`)
  await register('eip155:8453:8')
  await check()
  expect(await shown()).toMatchObject({ state: 'no_wallet' })
  expect(await register('eip155:8453:9')).toBe(200)
  expect(await shown()).toEqual({ id: 'eip155:8453:9', state: 'not_checked' })
})

test('an agent that does not exist has no wallet, and a failing node leaves agents unchecked', async () => {
  const failsWith = (code: number, message: string) =>
    proxyDuringTest(anvil.url, {
      instead: (request) =>
        request.method === 'eth_call' ? rpcError(request, code, message) : undefined,
    })
  await register('eip155:8453:9')
  expect(await check({ base: (await failsWith(-32_601, 'no such method')).url })).toBe(0)
  expect(await shown()).toMatchObject({ state: 'not_checked' })
  service.clock.advance(dayMs)
  expect(await check({ base: (await failsWith(3, 'execution reverted')).url })).toBe(1)
  expect(await shown()).toMatchObject({ state: 'no_wallet' })
})

test('an agent that the node refuses is not checked, and delays no other agent', async () => {
  await register('eip155:8453:666', bob)
  await setWallet(7n, alice.address)
  await register('eip155:8453:7')
  const { url } = await proxyDuringTest(anvil.url, {
    instead: (request) =>
      JSON.stringify(request).includes((666).toString(16).padStart(64, '0'))
        ? rpcError(request, -32_000, 'execution reverted')
        : undefined,
  })
  expect(await check({ base: url })).toBe(1)
  expect(await shown()).toMatchObject({ state: 'confirmed' })
  const { body } = await service.getJson(`/api/v1/workers/${bob.address}`)
  expect(body).toMatchObject({ erc8004: { state: 'not_checked' } })
})

test('a confirmation that has not been repeated for three days is not shown', async () => {
  await setWallet(7n, alice.address)
  await register('eip155:8453:7')
  await check()
  service.clock.advance(3 * dayMs)
  await check({})
  expect(await shown()).toMatchObject({ state: 'confirmed' })
  service.clock.advance(1)
  await check({})
  expect(await shown()).toEqual({ id: 'eip155:8453:7', state: 'not_checked' })
})

test('an agent stays unchecked while the operator has no node of its chain', async () => {
  await register('eip155:1:7')
  expect(await check()).toBe(0)
  await register('eip155:8453:7')
  expect(await check({})).toBe(0)
  expect(await shown()).toMatchObject({ state: 'not_checked' })
})

test.each(['8453:7', 'eip155:10:7', 'eip155:8453:07', 'eip155:8453:-1'])(
  'refuses %s as an agent',
  async (agent) => {
    expect(await register(agent)).toBe(400)
  },
)
