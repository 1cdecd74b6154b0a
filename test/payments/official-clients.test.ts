/** The x402 project's published clients against the service and a chain. */
import { wrapAxiosWithPayment, x402Client as x402AxiosClient } from '@x402/axios'
import { ExactEvmScheme } from '@x402/evm'
import { registerExactEvmScheme } from '@x402/evm/exact/client'
import { ExactEvmSchemeV1 } from '@x402/evm/v1'
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from '@x402/fetch'
import axios from 'axios'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

import { alertFeed } from '../../src/contract/schemas/alert.ts'
import { entriesOf } from '../../src/core/entries.ts'
import { feed, payer, price, usePaidService } from '../support/payment-tests.ts'

const paid = usePaidService()
const feedUrl = () => `${paid.service.url}${feed}`

/** The name of the network in the result header of each version. */
const networkIn = { 'payment-response': 'eip155:8453', 'x-payment-response': 'base' } as const

/** Expects one transfer of the price, by the transaction in the response. */
async function expectPaidOnce(
  purchase: () => Promise<{
    readonly status: number
    readonly body: unknown
    readonly header: (name: string) => string | null
  }>,
): Promise<void> {
  const { chain } = paid
  const balance = await chain.balanceOf(payer.address)
  const usedBefore = await chain.usedAuthorizations()
  const { status, body, header } = await purchase()
  expect(status).toBe(200)
  expect(() => alertFeed.parse(body)).not.toThrow()
  expect(header('cache-control')).toBe('private, no-store')
  const used = (await chain.usedAuthorizations()).slice(usedBefore.length)
  expect(used).toHaveLength(1)
  for (const [name, network] of entriesOf(networkIn)) {
    const settlement = decodePaymentResponseHeader(header(name) ?? '')
    expect(settlement).toMatchObject({ success: true, transaction: used[0]?.transaction, network })
    expect(settlement.payer?.toLowerCase()).toBe(payer.address.toLowerCase())
  }
  expect(await chain.balanceOf(payer.address)).toBe(balance - price)
}

const byFetch = async (pay: typeof fetch) => {
  const response = await pay(feedUrl())
  return {
    status: response.status,
    body: await response.json(),
    header: (name: string) => response.headers.get(name),
  }
}

/** Removes the header of version 2, as a server of version 1 responds. */
const onlyV1: typeof fetch = async (input, init) => {
  const response = await fetch(input, init)
  const headers = new Headers(response.headers)
  headers.delete('payment-required')
  return new Response(response.body, { status: response.status, headers })
}

describe('the official clients', () => {
  it('@x402/fetch pays in version 2 and gets the response', async () => {
    const client = registerExactEvmScheme(new x402Client(), { signer: payer })
    await expectPaidOnce(() => byFetch(wrapFetchWithPayment(fetch, client)))
  })

  it('@x402/fetch with a payment identifier gets the same answer again, and pays once', async () => {
    const client = registerExactEvmScheme(new x402Client(), { signer: payer })
    // As `appendPaymentIdentifierToExtensions` of @x402/extensions does.
    client.onBeforePaymentCreation(async ({ paymentRequired: { extensions } }) => {
      const offered = z.looseObject({ info: z.looseObject({ required: z.literal(false) }) })
      const { info } = offered.parse(extensions?.['payment-identifier'])
      Object.assign(extensions ?? {}, {
        'payment-identifier': { info: { ...info, id: 'pay_7d5d747be160e280504c099d984bcfe0' } },
      })
      await Promise.resolve()
    })
    const pay = wrapFetchWithPayment(fetch, client)
    const answers: unknown[] = []
    const buy = async () => {
      const answer = await byFetch(pay)
      answers.push([answer.body, answer.header('payment-response')])
      return answer
    }
    await expectPaidOnce(async () => {
      await buy()
      return await buy()
    })
    expect(answers[1]).toEqual(answers[0])
  })

  it('@x402/fetch pays in version 1 and gets the response', async () => {
    const client = registerExactEvmScheme(new x402Client(), { signer: payer })
    await expectPaidOnce(() => byFetch(wrapFetchWithPayment(onlyV1, client)))
  })

  it('@x402/axios pays in version 2 and gets the response', async () => {
    const client = new x402AxiosClient().register('eip155:*', new ExactEvmScheme(payer))
    const api = wrapAxiosWithPayment(axios.create(), client)
    await expectPaidOnce(() => byAxios(api))
  })

  it('@x402/axios pays in version 1 and gets the response', async () => {
    const client = new x402AxiosClient().registerV1('base', new ExactEvmSchemeV1(payer))
    const instance = axios.create()
    instance.interceptors.response.use(undefined, (error: unknown) => {
      if (axios.isAxiosError(error)) delete error.response?.headers['payment-required']
      throw error
    })
    await expectPaidOnce(() => byAxios(wrapAxiosWithPayment(instance, client)))
  })
})

async function byAxios(api: ReturnType<typeof wrapAxiosWithPayment>) {
  const response = await api.get<unknown>(feedUrl())
  const header = (name: string) => {
    const value: unknown = response.headers[name]
    return typeof value === 'string' ? value : null
  }
  return { status: response.status, body: response.data, header }
}
