/** Several services with one database and one settlement wallet. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { beforeEach, describe, expect, it } from 'vitest'

import { createPaymentWatch } from '../../src/actions/payment-watch.ts'
import { gate } from '../db/temp-database.ts'
import { newDatabaseIn } from '../support/new-database.ts'
import { startPaidService } from '../support/paid-service.ts'
import type { PaidService } from '../support/paid-service.ts'
import { buyFrom, expectPending, price, usePaymentTests } from '../support/payment-tests.ts'
import type { PaymentTests } from '../support/payment-tests.ts'

let databasePath: string
let others: readonly PaidService[]

const start = ({ chain, proxy }: PaymentTests) =>
  startPaidService({ chain, rpcUrl: proxy.url, databasePath })

beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'ledger-services-'))
  databasePath = await newDatabaseIn(folder)
  return () => rm(folder, { recursive: true, force: true })
})
const { tests: t, buy, sign, charged, rows, expectUsed } = usePaymentTests(start)

beforeEach(async () => {
  others = [await start(t), await start(t)]
  return async () => void (await Promise.all(others.map(({ stop }) => stop())))
})

const raw = () => t.proxy.requests.filter(({ method }) => method === 'eth_sendRawTransaction')
const sent = async () => await t.chain.sentBy(t.paid.settler)

/** Stops the first service at an RPC call; `resume` lets it continue. */
function stopAt(method: string) {
  const [reached, resume] = [gate(), gate()]
  let isFirst = true
  t.rules = {
    before: async (call) => {
      if (call.method !== method || !isFirst) return
      isFirst = false
      reached.open()
      await resume.opened
    },
  }
  return { reached: reached.opened, resume: resume.open }
}

describe('one payment that is sent to three services', () => {
  it('one payment sent to three services at once is settled once and delivered once', async () => {
    const signed = await sign()
    const answers = await Promise.all([
      buy(signed),
      ...others.map((other) => buyFrom(other, signed)),
    ])
    const [delivered, ...pending] = answers.toSorted((left, right) => left.status - right.status)
    expect(delivered?.status).toBe(200)
    pending.forEach(expectPending)
    await expectUsed(signed)
    expect(await sent()).toMatchObject([{ succeeded: true }])
    expect(await rows()).toHaveLength(1)
  })

  it.each(['eth_estimateGas', 'eth_sendRawTransaction'])(
    'a payment is pending in other services while the first one is stopped at %s',
    async (method) => {
      const signed = await sign()
      const { reached, resume } = stopAt(method)
      const first = buy(signed)
      await reached
      for (const other of others) expectPending(await buyFrom(other, signed))
      resume()
      expect((await first).status).toBe(200)
      await expectUsed(signed)
      expect(await sent()).toMatchObject([{ succeeded: true }])
    },
  )

  it('a payment is not settled by a service that was paused while another one delivered it', async () => {
    const signed = await sign()
    const { reached, resume } = stopAt('eth_estimateGas')
    const first = buy(signed)
    await reached
    // As if the time of the reservation had ended meanwhile.
    await t.paid.actions.database.write((tx) =>
      tx.updateTable('payments').set({ held_until: 0 }).execute(),
    )
    const [other = t.paid] = others
    expect((await buyFrom(other, signed)).status).toBe(200)
    resume()
    expect((await first).status).not.toBe(200)
    await expectUsed(signed)
    expect(await sent()).toMatchObject([{ succeeded: true }])
  })
})

describe('the settlement wallet', () => {
  it('the settlement wallet sends 24 payments of three services and uses no nonce twice', async () => {
    const services = [t.paid, ...others]
    const before = raw().length
    const signed = await Promise.all(Array.from({ length: 24 }, () => sign()))
    const answers = await Promise.all(
      signed.map((one, at) => buyFrom(services[at % 3] ?? t.paid, one)),
    )
    expect(answers.map(({ status }) => status)).toEqual(signed.map(() => 200))
    expect(await charged()).toBe(24n * price)
    const transactions = await sent()
    expect(transactions).toHaveLength(24)
    expect(transactions.every(({ succeeded }) => succeeded)).toBe(true)
    expect(raw()).toHaveLength(before + 24)
  })

  it('a service that lost the settler lease while it was paused sends no transaction', async () => {
    const [first, second] = await Promise.all([sign(), sign()])
    const { reached, resume } = stopAt('eth_feeHistory')
    const paused = buy(first)
    await reached
    await t.paid.actions.database.write((tx) =>
      tx.updateTable('leases').set({ until: 0 }).where('name', '=', 'settler').execute(),
    )
    const [other = t.paid] = others
    expect((await buyFrom(other, second)).status).toBe(200)
    resume()
    expect(await paused).toMatchObject({ status: 503, code: 'settlement_pending' })
    expect(await sent()).toHaveLength(1)
    expect((await buy(first)).status).toBe(200)
    expect(await sent()).toMatchObject([{ succeeded: true }, { succeeded: true }])
  })
})

it('the payment watch runs in one service, and in another when the lease of the first has ended', async () => {
  const [first, second] = [t.paid, ...others].map(({ actions }) => createPaymentWatch(actions))
  const states = async () => (await rows()).map(({ state }) => state)
  await first?.run()
  await t.chain.automine(false)
  expectPending(await buy(await sign()))
  await t.chain.mine()
  await second?.run()
  expect(await states()).toEqual(['submitted'])
  await t.paid.actions.database.write((tx) => tx.updateTable('leases').set({ until: 0 }).execute())
  await second?.run()
  expect(await states()).toEqual(['settled'])
})
