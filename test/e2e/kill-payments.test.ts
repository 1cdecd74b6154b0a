/** Kills the compiled service during a payment: the next start delivers it once or has charged nothing. */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { feed, payer, price, usePaymentChain } from '../support/payment-tests.ts'
import type { Running } from '../support/program.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import {
  chainAccount,
  chainKey,
  headerOf,
  localSettlement,
  paymentV2,
  settlementCall,
  signAuthorization,
} from '../support/x402-payment.ts'
import type { SignedAuthorization } from '../support/x402-payment.ts'
import { newLedger, stop, useProgram } from './ledger.ts'
import type { Ledger } from './ledger.ts'

allowSlowTests('starts the compiled program')

const receiver = chainAccount('receiver').address
const settler = chainAccount('settler').address

const program = useProgram()
const { tests, charged } = usePaymentChain()
let ledger: Ledger

beforeEach(async () => {
  await tests.chain.fund(settler)
  ledger = newLedger(program, {
    BUILDER: 'off',
    POLL: 'off',
    LOG_LEVEL: 'debug',
    ...localSettlement(program.dir, tests.proxy.url),
  })
  return ledger.remove
})

const sign = () => signAuthorization(payer, { to: receiver, value: price })

const ascending = (left: number, right: number): number => left - right

interface Answer {
  readonly status: number
  readonly code: string | undefined
  readonly challenge: string | null
}

/** Null if the service ended before it responded. */
async function buy(url: string, signed: SignedAuthorization): Promise<Answer | null> {
  try {
    const response = await fetch(url + feed, {
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
  const { service, url } = await ledger.start()
  const kill = (called: string) => called === method && killed(service)
  tests.rules =
    moment === 'before'
      ? { instead: (call) => (kill(call.method) ? { body: '', silent: true } : undefined) }
      : { change: (call, answer) => (kill(call.method) ? null : answer) }
  expect(await buy(url, signed)).toBeNull()
  await service.ended
  tests.rules = {}
}

function killed(service: Running): true {
  service.kill('SIGKILL')
  return true
}

/** Starts the service again: it delivers the payment once, possibly after a pending state. */
async function expectDeliveredOnce(signed: SignedAuthorization): Promise<Running> {
  const { service, url } = await ledger.start()
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
  expect(await tests.chain.usedAuthorizations()).toHaveLength(1)
  expect(service.output()).not.toContain(chainKey('settler').slice(2))
  expect(service.output()).not.toContain(signed.signature.slice(2))
  return service
}

describe('a service killed with SIGKILL', () => {
  test.each([
    ['checks a payment', 'eth_estimateGas', 'after', 0n],
    ['submits a transaction', 'eth_sendRawTransaction', 'before', 0n],
    ['learns that its transaction was submitted', 'eth_sendRawTransaction', 'after', price],
    ['learns that its transaction was mined', 'eth_getTransactionReceipt', 'after', price],
  ] as const)(
    'a service killed before it %s delivers once after the restart, with one transaction',
    async (_name, method, moment, chargedBefore) => {
      const signed = await sign()
      await buyAndKill(signed, method, moment)
      expect(await charged()).toBe(chargedBefore)
      await stop(await expectDeliveredOnce(signed))
      expect(await tests.chain.sentBy(settler)).toMatchObject([{ succeeded: true }])
    },
  )

  test('a service killed while its transaction is not mined answers settlement_pending until it is', async () => {
    const signed = await sign()
    await tests.chain.automine(false)
    await buyAndKill(signed, 'eth_sendRawTransaction', 'after')
    const { service, url } = await ledger.start()
    expect(await buy(url, signed)).toEqual({
      status: 503,
      code: 'settlement_pending',
      challenge: null,
    })
    await stop(service)
    await tests.chain.mine()
    await stop(await expectDeliveredOnce(signed))
    expect(await tests.chain.sentBy(settler)).toMatchObject([{ succeeded: true }])
  })

  test.each([
    ['has reserved a payment', 'eth_estimateGas'],
    ['sends its transaction', 'eth_sendRawTransaction'],
  ] as const)(
    'a service killed while it %s leaves the payment to the others, which deliver once',
    async (_name, method) => {
      const signed = await sign()
      const others = await Promise.all([ledger.start(), ledger.start()])
      await buyAndKill(signed, method, 'before')
      const answers = await Promise.all(others.map(({ url }) => buy(url, signed)))
      const [delivered, other] = answers.map((answer) => answer?.status ?? 0).toSorted(ascending)
      expect(delivered).toBe(200)
      expect([402, 503]).toContain(other)
      expect(await charged()).toBe(price)
      expect(await tests.chain.sentBy(settler)).toMatchObject([{ succeeded: true }])
      for (const { service, url } of others) {
        expect(await buy(url, signed)).toMatchObject({ code: 'authorization_already_used' })
        await stop(service)
      }
    },
  )

  test('a service killed before a third party settles the payment still delivers', async () => {
    const signed = await sign()
    await buyAndKill(signed, 'eth_sendRawTransaction', 'before')
    await tests.chain.call(settlementCall(signed))
    await stop(await expectDeliveredOnce(signed))
    expect(await tests.chain.sentBy(settler)).toEqual([])
  })
})

test('a settler key file that other users can read stops the start with an error that names only the file', async () => {
  const loose = join(program.dir, 'loose.key')
  writeFileSync(loose, `${chainKey('settler')}\n`)
  chmodSync(loose, 0o644)
  const service = ledger.service({ SETTLER_KEY_FILE: loose })
  expect(await service.ended).not.toBe(0)
  expect(service.output()).toContain('SETTLER_KEY_FILE')
  expect(service.output()).not.toContain(chainKey('settler').slice(2))
})
