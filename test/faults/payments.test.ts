/** Faults between payer, service and chain: a payer receives the answer once, or is not charged. */
import { encodeEventTopics } from 'viem'
import { describe, expect, it } from 'vitest'

import { createPaymentWatch } from '../../src/actions/payment-watch.ts'
import { startPaidService } from '../support/paid-service.ts'
import type { PaidOptions } from '../support/paid-service.ts'
import {
  decodedHeader,
  expectPending,
  expectUnavailable,
  payer,
  price,
  usePaymentTests,
} from '../support/payment-tests.ts'
import type { Answer } from '../support/payment-tests.ts'
import { rpcError, rpcResult, startRpcProxy } from '../support/rpc-proxy.ts'
import type { ProxyRules } from '../support/rpc-proxy.ts'
import { usdcAbi, usdcAddress } from '../support/usdc-chain.ts'
import { chainAccount, settlementCall, signAuthorization } from '../support/x402-payment.ts'
import type { SignedAuthorization } from '../support/x402-payment.ts'

const { tests: t, buy, sign, charged, expectUsed, expectDeliveredOnce, rows } = usePaymentTests()

/** Either delivered now, or pending and delivered by a repeat; never twice. */
async function expectDelivery(answer: Answer, signed: SignedAuthorization): Promise<void> {
  if (answer.status === 200) return await expectUsed(signed)
  expectPending(answer)
  await expectDeliveredOnce(signed)
}

/** The chain alone does not prove who buys. */
async function expectHeld(signed: SignedAuthorization): Promise<void> {
  for (const answer of [await buy(signed), await buy(signed)]) {
    expect([answer.status, answer.code]).toEqual([409, 'payment_buyer_unproven'])
  }
  expect((await rows()).map(({ state }) => state)).toEqual(['reconcile'])
}

const word = (hex: string) => `0x${hex.replace('0x', '').toLowerCase().padStart(64, '0')}`
const stranger = chainAccount('another wallet').address.toLowerCase()
const someHash = `0x${'12'.repeat(32)}`

/** Answers requests of one method in place of the node. */
function replace(method: string, answer: NonNullable<ProxyRules['instead']>): ProxyRules {
  return { instead: (request) => (request.method === method ? answer(request) : undefined) }
}

async function restart(options: Partial<PaidOptions> = {}): Promise<void> {
  await t.paid.stop()
  const { chain, proxy } = t
  t.paid = await startPaidService({ chain, rpcUrl: proxy.url, level: 'debug', ...options })
}

async function expectNoneReverted(): Promise<void> {
  const sent = await t.chain.sentBy(t.paid.settler)
  expect(sent.filter(({ succeeded }) => !succeeded)).toEqual([])
}

describe('one payment', () => {
  it('one payment sent a hundred times concurrently buys once and settles once', async () => {
    const signed = await sign()
    const answers = await Promise.all(Array.from({ length: 100 }, () => buy(signed)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const { status, code } of answers.filter((answer) => answer.status !== 200)) {
      expect(['402 authorization_already_used', '503 settlement_pending']).toContain(
        `${status} ${code}`,
      )
    }
    await expectUsed(signed)
    expect(await t.chain.sentBy(t.paid.settler)).toHaveLength(1)
    await expectNoneReverted()
  })

  it('a payment that a stranger settled is held even if there is nothing to deliver', async () => {
    const signed = await signAuthorization(payer, { to: t.paid.receiver, value: 10_000n })
    await t.chain.call(settlementCall(signed))
    const answer = await buy(signed, '/api/v1/arbitrage')
    expect([answer.status, answer.code]).toEqual([409, 'payment_buyer_unproven'])
    expect(answer.headers.get('payment-required')).toBeNull()
    expect((await rows())[0]).toMatchObject({ state: 'reconcile', deliveredAt: null })
  })

  it('a payment is not settled if there is nothing to deliver', async () => {
    const signed = await signAuthorization(payer, { to: t.paid.receiver, value: 10_000n })
    const answer = await buy(signed, '/api/v1/arbitrage')
    expect([answer.status, answer.code]).toEqual([503, 'unavailable'])
    expect(await charged()).toBe(0n)
    expect(await t.chain.sentBy(t.paid.settler)).toEqual([])
  })
})

describe('a settlement', () => {
  it('a settlement whose response was lost is found on-chain', async () => {
    const signed = await sign()
    t.rules = {
      change: ({ method }, answer) => (method === 'eth_sendRawTransaction' ? null : answer),
    }
    const answer = await buy(signed)
    await expectDelivery(answer, signed)
    await expectNoneReverted()
  })

  it('a settlement that is not mined is pending, with its transaction hash, and buys nothing else', async () => {
    await t.chain.automine(false)
    const signed = await sign()
    const first = await buy(signed)
    expectPending(first)
    expect(decodedHeader(first.headers, 'payment-response')).toMatchObject({
      success: false,
      errorReason: 'settlement_pending',
    })
    expect(decodedHeader(first.headers, 'payment-response')['transaction']).toMatch(
      /^0x[0-9a-f]{64}$/,
    )
    const second = await buy(signed)
    expectPending(second)
    expect(decodedHeader(second.headers, 'payment-response')['transaction']).toBe(
      decodedHeader(first.headers, 'payment-response')['transaction'],
    )
    expect(await charged()).toBe(0n)
    await t.chain.mine()
    const other = await buy(signed, '/api/v1/alerts/feed?rail=x402')
    expect([other.status, other.code]).toEqual([402, 'authorization_already_used'])
    await expectDeliveredOnce(signed)
    await expectNoneReverted()
  })

  it("a settlement is mined although the base fee rises, up to the operator's limit", async () => {
    await t.chain.automine(false)
    const signed = await sign()
    expectPending(await buy(signed))
    const { baseFeePerGas } = await t.chain.client.getBlock()
    await t.chain.rpc('anvil_setNextBlockBaseFeePerGas', [
      `0x${(10n * (baseFeePerGas ?? 0n)).toString(16)}`,
    ])
    await t.chain.mine()
    await expectDeliveredOnce(signed)
    await expectNoneReverted()
  })

  it('a refused payment leaves no nonce gap', async () => {
    const poor = chainAccount('a payer without funds')
    const terms = { to: t.paid.receiver, value: price }
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, at) =>
        buy(at % 2 === 0 ? await sign() : await signAuthorization(poor, terms)),
      ),
    )
    expect(answers.map(({ status, code }) => (status === 200 ? '200' : code))).toEqual(
      answers.map((_, at) => (at % 2 === 0 ? '200' : 'insufficient_funds')),
    )
    expect(await charged()).toBe(10n * price)
    await expectNoneReverted()
  })
})

it('payments that wait for the settling wallet are recorded together before they are sent', async () => {
  const all = await Promise.all(Array.from({ length: 8 }, () => sign()))
  let checks = 0
  const unsent: number[] = []
  let release = (): void => undefined
  const allChecked = new Promise<void>((resolve) => (release = resolve))
  t.rules = {
    before: async ({ method }) => {
      if (method === 'eth_estimateGas' && (checks += 1) === all.length) release()
      if (method !== 'eth_sendRawTransaction') return
      await allChecked
      unsent.push((await rows()).filter(({ state }) => state === 'submitted').length)
    },
  }
  const answers = await Promise.all(all.map((signed) => buy(signed)))
  expect(answers.map(({ status }) => status)).toEqual(all.map(() => 200))
  expect(Math.max(...unsent)).toBeGreaterThan(2)
  await expectNoneReverted()
})

describe('a stranger who settles first', () => {
  it('a payment that a stranger settles before the payer sends it has an unproven buyer', async () => {
    const signed = await sign()
    await t.chain.call(settlementCall(signed))
    await expectHeld(signed)
    expect(await t.chain.sentBy(t.paid.settler)).toEqual([])
  })

  it('a settlement by a stranger is found weeks later, and only the validity period is searched', async () => {
    const signed = await sign()
    await t.chain.call(settlementCall(signed))
    const weeksMs = 14 * 24 * 3_600_000
    t.paid.clock.advance(weeksMs)
    t.rules = {
      change: ({ method }, answer) =>
        method === 'eth_getBlockByNumber' ? blockAfter(answer, weeksMs / 1000) : answer,
    }
    const earlier = t.proxy.requests.length
    await expectHeld(signed)
    const methods = t.proxy.requests.slice(earlier).map(({ method }) => method)
    expect(methods.filter((method) => method === 'eth_getLogs')).toHaveLength(2)
    expect(await t.chain.sentBy(t.paid.settler)).toEqual([])
  })

  it('a payment that a stranger settled is pending while a node does not show the transfer', async () => {
    const signed = await sign()
    await t.chain.call(settlementCall(signed))
    t.paid.clock.advance(180_000)
    t.rules = replace('eth_getLogs', (request) => rpcResult(request, []))
    expectPending(await buy(signed))
    // No node lags for so long.
    t.paid.clock.advance(600_000)
    expect(await buy(signed)).toMatchObject({ status: 402, code: 'authorization_already_used' })
    expect((await rows())[0]).toBeUndefined()
    t.paid.clock.advance(-600_000)
    t.rules = {}
    await expectHeld(signed)
  })

  it('a settlement by a stranger is found in blocks as full as those of Base', async () => {
    const hashes = JSON.stringify(Array.from({ length: 3000 }, () => someHash))
    const signed = await sign()
    await t.chain.call(settlementCall(signed))
    t.rules = {
      change: ({ method }, answer) =>
        method === 'eth_getBlockByNumber'
          ? answer.replace(/"transactions":\[[^\]]*\]/, `"transactions":${hashes}`)
          : answer,
    }
    await expectHeld(signed)
  })

  it('a stranger who settles between our check and our transaction changes nothing for the payer', async () => {
    const signed = await sign()
    let isFirst = true
    const frontRun = async () => {
      isFirst = false
      await t.chain.call(settlementCall(signed))
    }
    const race = await startRpcProxy(t.chain.url, {
      before: async ({ method }) => {
        if (isFirst && method === 'eth_sendRawTransaction') await frontRun()
      },
    })
    await restart({ rpcUrl: race.url })
    const answer = await buy(signed)
    await expectDelivery(answer, signed)
    await race.stop()
  })

  it('a payment whose nonce was used for a transfer to another wallet buys nothing', async () => {
    const signed = await sign()
    const { nonce } = signed.authorization
    const elsewhere = { to: chainAccount('another wallet').address, value: price, nonce }
    await t.chain.call(settlementCall(await signAuthorization(payer, elsewhere)))
    const answer = await buy(signed)
    expect([answer.status, answer.code]).toEqual([402, 'authorization_already_used'])
    expect(await t.chain.balanceOf(t.paid.receiver)).toBe(0n)
  })
})

/** Moves a block by so many seconds, with the number that Base would have reached. */
function blockAfter(answer: string, seconds: number): string {
  const later = (name: string, by: number, text: string): string =>
    text.replace(
      new RegExp(`"${name}":"(0x[0-9a-f]+)"`),
      (_, hex: string) => `"${name}":"0x${(Number(hex) + by).toString(16)}"`,
    )
  return later('number', seconds / 2, later('timestamp', seconds, answer))
}

describe('a faulty chain', () => {
  it('a chain that turns out to have the wrong id receives no transaction', async () => {
    t.rules = { instead: () => ({ status: 500, body: 'not yet' }) }
    await restart()
    const signed = await sign()
    t.rules = replace('eth_chainId', (request) => rpcResult(request, '0x1'))
    const answer = await buy(signed)
    expectUnavailable(answer)
    expect(await charged()).toBe(0n)
    expect(await t.chain.sentBy(t.paid.settler)).toEqual([])
    t.rules = {}
    await expectDeliveredOnce(signed)
  })

  it('a chain with the wrong id prevents the start', async () => {
    t.rules = { instead: (request) => rpcResult(request, '0x1') }
    await expect(startPaidService({ chain: t.chain, rpcUrl: t.proxy.url })).rejects.toThrow(
      'RPC_URL_BASE',
    )
  })

  it.each<readonly [string, ProxyRules]>([
    ['answers 500', { instead: () => ({ status: 500, body: 'no' }) }],
    ['answers something else than JSON', { instead: () => ({ body: '<html>' }) }],
    ['has too many requests', { instead: () => ({ status: 429, body: '{}' }) }],
    [
      'refuses the transaction',
      replace('eth_sendRawTransaction', (request) =>
        rpcError(request, -32000, 'transaction type not supported'),
      ),
    ],
  ])('a chain that %s settles nothing and charges nobody', async (_, rules) => {
    const signed = await sign()
    t.rules = rules
    const answer = await buy(signed)
    expectUnavailable(answer)
    expect(await charged()).toBe(0n)
    t.rules = {}
    await expectDeliveredOnce(signed)
  })

  it('a payment is delivered once if the chain refuses the transaction but mines it', async () => {
    const signed = await sign()
    t.rules = {
      instead: (request) =>
        request.method === 'eth_getTransactionByHash' ? rpcResult(request, null) : undefined,
      change: (request, answer) =>
        request.method === 'eth_sendRawTransaction'
          ? rpcError(request, -32000, 'upstream timed out').body
          : answer,
    }
    const answer = await buy(signed)
    expectUnavailable(answer)
    t.rules = {}
    // The payment is recorded even if the payer never returns.
    await createPaymentWatch(t.paid.actions).run()
    expect((await rows())[0]).toMatchObject({ state: 'settled', deliveredAt: null })
    await expectDeliveredOnce(signed)
  })

  it('a payment is delivered once if its transaction is shown as failed and succeeds later', async () => {
    const signed = await sign()
    await t.chain.automine(false)
    t.rules = replace('eth_getTransactionReceipt', (request) => {
      const receipt = receiptOf(signed, String(request.params[0]), t.paid.receiver)
      return rpcResult(request, { ...receipt, status: '0x0' })
    })
    expect(await buy(signed)).toMatchObject({ status: 402, code: 'payment_refused' })
    expect((await rows())[0]).toMatchObject({ state: 'failed' })
    t.rules = {}
    await t.chain.mine()
    t.paid.clock.advance(3_600_000)
    await expectDeliveredOnce(signed)
  })

  it('a chain that stalls after it accepted the transaction does not delay the payer', async () => {
    await restart({ speed: 4 })
    const signed = await sign()
    await t.chain.automine(false)
    let looks = 0
    t.rules = {
      instead: ({ method }) => {
        if (method === 'eth_getTransactionReceipt') looks += 1
        return looks > 0 ? { body: '', silent: true } : undefined
      },
    }
    expectPending(await buy(signed))
    expect(looks).toBe(1)
    t.rules = {}
    await t.chain.mine()
    await expectDeliveredOnce(signed)
  })

  it('a chain that cannot check the signature of a contract wallet makes nobody sign again', async () => {
    const wallet = '0x00000000000000000000000000000000000c0de1'
    await t.chain.mint(wallet, price)
    await t.chain.rpc('anvil_setCode', [wallet, '0x631626ba7e60e01b60005260206000f3'])
    const signed = { ...(await sign({ from: wallet })), signature: '0x1234567890' as const }
    t.rules = replace('eth_call', (request) => rpcError(request, -32_005, 'limit exceeded'))
    expectUnavailable(await buy(signed))
    t.rules = {}
    expect((await buy(signed)).status).toBe(200)
  })

  it('a chain that stalls settles nothing, and the payer gets a response in time', async () => {
    await restart({ speed: 40 })
    const signed = await sign()
    t.rules = { instead: () => ({ body: '', silent: true }) }
    const answer = await buy(signed)
    expectUnavailable(answer)
    expect(await charged()).toBe(0n)
  })

  it.each<readonly [string, RegExp, string]>([
    ['for another transaction', /"transactionHash":"0x\w+"/, `"transactionHash":"${someHash}"`],
    ['with logs of another', /("logs":.*?"transactionHash":)"0x\w+"/, `$1"${someHash}"`],
    ['with a removed log', /"logIndex":"0x1"/, '"logIndex":"0x1","removed":true'],
    ['that failed', /"status":"0x1"/, '"status":"0x0"'],
    ['without logs', /"logs":.*\]/, '"logs":[]'],
    ['of another amount', /7d0","log/, '7d1","log'],
    ['from another payer', /0x\w+(","0x\w+"\],"data":"0x0)/, `${word(stranger)}$1`],
    ['to another receiver', /0x\w+("\],"data":"0x0)/, `${word(stranger)}$1`],
    ['of another token', /"address":"0x\w+"/g, `"address":"${stranger}"`],
    ['of another authorization', /0x\w+("\],"data":"0x",)/, `${someHash}$1`],
    ['of a transfer elsewhere in the block', /"logIndex":"0x1"/, '"logIndex":"0x5"'],
  ])('a chain that shows a forged receipt %s is not trusted', async (_, original, forged) => {
    const signed = await sign()
    await t.chain.automine(false)
    const shown: boolean[] = []
    t.rules = replace('eth_getTransactionReceipt', (request) => {
      const receipt = receiptOf(signed, String(request.params[0]), t.paid.receiver)
      const text = JSON.stringify(receipt)
      shown.push(original.test(text))
      return rpcResult(request, JSON.parse(text.replace(original, forged)))
    })
    const answer = await buy(signed)
    expect(shown).toContain(true)
    expect(answer.status).not.toBe(200)
    t.rules = {}
    await t.chain.mine()
    await expectDeliveredOnce(signed)
  })
})

/** The receipt that the node would return if the payment were mined. */
function receiptOf({ authorization }: SignedAuthorization, hash: string, payTo: string) {
  const [used, transfer] = ['AuthorizationUsed', 'Transfer'].map((name) =>
    encodeEventTopics({
      abi: usdcAbi,
      eventName: name === 'Transfer' ? name : 'AuthorizationUsed',
    }),
  )
  const place = { transactionHash: hash, blockNumber: '0x1', blockHash: someHash }
  const from = word(authorization.from)
  const logs = [
    { topics: [String(used), from, authorization.nonce], data: '0x', logIndex: '0x0' },
    { topics: [String(transfer), from, word(payTo)], data: word('7d0'), logIndex: '0x1' },
  ]
  return {
    ...place,
    status: '0x1',
    logs: logs.map((log) => ({ ...place, address: usdcAddress, ...log })),
  }
}

describe('a reorganisation', () => {
  it('a payment settles once despite a reorganisation before the response', async () => {
    const signed = await sign()
    await t.chain.automine(false)
    expectPending(await buy(signed))
    await t.chain.mine()
    await t.chain.reorg(1)
    await t.chain.automine(true)
    await expectDeliveredOnce(signed)
  })

  it('a delivered payment that a reorganisation undoes delivers no more, and is a problem once final', async () => {
    const signed = await sign()
    expect((await buy(signed)).status).toBe(200)
    await t.chain.reorg(1)
    expect(await charged()).toBe(0n)
    const again = await buy(signed)
    expect([again.status, again.code]).toEqual([402, 'authorization_already_used'])
    expect(await charged()).toBe(0n)
    const watch = createPaymentWatch(t.paid.actions)
    await watch.run()
    expect(watch.problems()).toEqual([])
    // A minute beyond the end of the authorization, and so many blocks that this is final.
    await t.chain.mine(400)
    await watch.run()
    expect(watch.problems()).toEqual([
      'settlement: a reorganisation undid 1 settled payment permanently',
    ])
    expect(await rows()).toMatchObject([
      { state: 'settled', finality: 'undone', reason: 'a reorganisation removed the transfer' },
    ])
    expect(t.paid.lines()).toContainEqual(expect.objectContaining({ message: 'payment undone' }))
    expect((await buy(signed)).status).toBe(402)
  })

  it('a reorganisation that moves a payment to another block is tracked', async () => {
    const signed = await sign()
    expect((await buy(signed)).status).toBe(200)
    await t.chain.reorg(1)
    await t.chain.call(settlementCall(signed))
    await t.chain.mine(400)
    const watch = createPaymentWatch(t.paid.actions)
    await watch.run()
    expect(watch.problems()).toEqual([])
    const [used] = await t.chain.usedAuthorizations()
    expect((await rows())[0]).toMatchObject({ finality: 'final', txHash: used?.transaction })
    await expectUsed(signed)
  })
})
