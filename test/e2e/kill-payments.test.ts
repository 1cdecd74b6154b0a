/** Kills the compiled service during a payment: the next start delivers it once or has charged nothing. */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'

import type { Running } from '../support/program.ts'
import { startRpcProxy } from '../support/rpc-proxy.ts'
import type { ProxyRules, RpcProxy } from '../support/rpc-proxy.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { startUsdcChain } from '../support/usdc-chain.ts'
import type { UsdcChain } from '../support/usdc-chain.ts'
import {
  chainAccount,
  chainKey,
  headerOf,
  paymentV2,
  settlementCall,
  signAuthorization,
} from '../support/x402-payment.ts'
import type { SignedAuthorization } from '../support/x402-payment.ts'
import { addressOf, newLedger, stop, useProgram } from './ledger.ts'
import type { Ledger } from './ledger.ts'

allowSlowTests('starts the compiled program')

const payer = chainAccount('payer')
const receiver = chainAccount('receiver').address
const settler = chainAccount('settler').address
/** Price of the feed. */
const price = 2000n
const funds = 1_000_000n

const program = useProgram()
let chain: UsdcChain
let proxy: RpcProxy
let ledger: Ledger
let keyFile: string
let rules: ProxyRules = {}

beforeAll(async () => {
  chain = await startUsdcChain()
  await chain.mint(payer.address, funds)
  await chain.fund(settler)
  proxy = await startRpcProxy(chain.url, {
    instead: (request) => rules.instead?.(request),
    change: (request, answer) =>
      rules.change === undefined ? answer : rules.change(request, answer),
  })
  keyFile = join(program.dir, 'settler.key')
  writeFileSync(keyFile, `${chainKey('settler')}\n`, { mode: 0o600 })
})

afterAll(async () => {
  await proxy.stop()
  await chain.stop()
})

beforeEach(async () => {
  rules = {}
  const restore = await chain.snapshot()
  ledger = newLedger(program, {
    BUILDER: 'off',
    POLL: 'off',
    LOG_LEVEL: 'debug',
    SETTLEMENT: 'local',
    SETTLER_KEY_FILE: keyFile,
    PAYMENT_RECEIVER: receiver,
    RPC_URL_BASE: proxy.url,
  })
  return async () => {
    await restore()
    ledger.remove()
  }
})

const sign = () => signAuthorization(payer, { to: receiver, value: price })
const charged = async () => funds - (await chain.balanceOf(payer.address))

interface Answer {
  readonly status: number
  readonly code: string | undefined
  readonly challenge: string | null
}

/** Null if the service ended before it responded. */
async function buy(url: string, signed: SignedAuthorization): Promise<Answer | null> {
  try {
    const response = await fetch(`${url}/api/v1/alerts/feed`, {
      headers: { 'PAYMENT-SIGNATURE': headerOf(paymentV2(signed)) },
    })
    const { code } = z.looseObject({ code: z.string().optional() }).parse(await response.json())
    return { status: response.status, code, challenge: response.headers.get('payment-required') }
  } catch (error) {
    // `fetch` throws a TypeError when a connection ends; any other error fails the test.
    if (error instanceof TypeError) return null
    throw error
  }
}

/** Buys from a service that is killed at an RPC call, before or after the node receives it. */
async function buyAndKill(
  signed: SignedAuthorization,
  method: string,
  moment: 'before' | 'after',
): Promise<void> {
  const service = ledger.service()
  const url = await addressOf(service)
  const kill = (called: string) => called === method && killed(service)
  rules =
    moment === 'before'
      ? { instead: (call) => (kill(call.method) ? { body: '', silent: true } : undefined) }
      : { change: (call, answer) => (kill(call.method) ? null : answer) }
  expect(await buy(url, signed)).toBeNull()
  await service.ended
  rules = {}
}

function killed(service: Running): true {
  service.kill('SIGKILL')
  return true
}

/** Starts the service again: it delivers the payment once, possibly after a pending state. */
async function expectDeliveredOnce(signed: SignedAuthorization): Promise<Running> {
  const service = ledger.service()
  const url = await addressOf(service)
  await expect
    .poll(
      async () => {
        const answer = await buy(url, signed)
        if (answer?.status === 503) expect(answer.challenge).toBeNull()
        return answer?.status
      },
      { timeout: 60_000 },
    )
    .toBe(200)
  expect(await buy(url, signed)).toMatchObject({ status: 402, code: 'authorization_already_used' })
  expect(await charged()).toBe(price)
  expect(await chain.usedAuthorizations()).toHaveLength(1)
  expect(service.output()).not.toContain(chainKey('settler').slice(2))
  expect(service.output()).not.toContain(signed.signature.slice(2))
  return service
}

describe('a service killed with SIGKILL', () => {
  test('while it checks a payment has charged nothing', async () => {
    const signed = await sign()
    await buyAndKill(signed, 'eth_estimateGas', 'after')
    expect(await charged()).toBe(0n)
    await stop(await expectDeliveredOnce(signed))
  })

  test('before it submits a transaction submits one after the restart', async () => {
    const signed = await sign()
    await buyAndKill(signed, 'eth_sendRawTransaction', 'before')
    expect(await charged()).toBe(0n)
    await stop(await expectDeliveredOnce(signed))
  })

  test('after it submitted a transaction delivers after the restart without a second one', async () => {
    const signed = await sign()
    await buyAndKill(signed, 'eth_sendRawTransaction', 'after')
    expect(await charged()).toBe(price)
    await stop(await expectDeliveredOnce(signed))
    expect(await chain.sentBy(settler)).toMatchObject([{ succeeded: true }])
  })

  test('after it read the transaction receipt delivers after the restart without a second transaction', async () => {
    const signed = await sign()
    await buyAndKill(signed, 'eth_getTransactionReceipt', 'after')
    await stop(await expectDeliveredOnce(signed))
    expect(await chain.sentBy(settler)).toMatchObject([{ succeeded: true }])
  })

  test('while its transaction is not mined answers settlement_pending until it is', async () => {
    const signed = await sign()
    await chain.automine(false)
    await buyAndKill(signed, 'eth_sendRawTransaction', 'after')
    const service = ledger.service()
    const url = await addressOf(service)
    expect(await buy(url, signed)).toEqual({
      status: 503,
      code: 'settlement_pending',
      challenge: null,
    })
    await stop(service)
    await chain.mine()
    await stop(await expectDeliveredOnce(signed))
    expect(await chain.sentBy(settler)).toMatchObject([{ succeeded: true }])
  })

  test('before a third party settles the payment still delivers', async () => {
    const signed = await sign()
    await buyAndKill(signed, 'eth_sendRawTransaction', 'before')
    await chain.call(settlementCall(signed))
    await stop(await expectDeliveredOnce(signed))
    expect(await chain.sentBy(settler)).toEqual([])
  })
})

test('a settler key file that other users can read stops the start, and the error names the file but not the key', async () => {
  const loose = join(program.dir, 'loose.key')
  writeFileSync(loose, `${chainKey('settler')}\n`)
  chmodSync(loose, 0o644)
  const service = ledger.service({ SETTLER_KEY_FILE: loose })
  expect(await service.ended).not.toBe(0)
  expect(service.output()).toContain('SETTLER_KEY_FILE')
  expect(service.output()).not.toContain(chainKey('settler').slice(2))
})
