import { beforeEach, describe, expect, it } from 'vitest'

import type { OpenDatabase } from '../../../src/db/open.ts'
import {
  listPayments,
  claimDelivery,
  closePayment,
  dropStaleReservations,
  failPayment,
  findPayment,
  releasePayment,
  reservePayment,
  settlePayment,
  submitPayment,
} from '../../../src/db/payments.ts'
import type { NewPayment } from '../../../src/db/payments.ts'
import { tempDatabase } from '../temp-database.ts'

const now = '2026-11-21T06:00:00.000Z'
const foundIn = { txHash: '0xaa', blockNumber: 7, blockHash: '0xbb' }
const payment = (changes: Partial<NewPayment> = {}): NewPayment => ({
  id: 'pay_1',
  chainId: 8453,
  asset: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
  payer: `0x${'11'.repeat(20)}`,
  nonce: `0x${'22'.repeat(32)}`,
  payTo: `0x${'33'.repeat(20)}`,
  amountMicroUsdc: 2000,
  validAfter: 0,
  validBefore: 1_795_240_120,
  signatureSha256: '44'.repeat(32),
  purpose: 'read',
  resource: 'https://ledger.test/api/v1/alerts/feed',
  detail: null,
  settler: 'local',
  holder: 'test',
  reservedAt: now,
  ...changes,
})

let database: OpenDatabase
beforeEach(async () => {
  database = await tempDatabase()
})

const reserve = (changes?: Partial<NewPayment>) =>
  database.write((tx) => reservePayment(tx, payment(changes)))
const submit = (txHash: string) =>
  database.write((tx) => submitPayment(tx, 'pay_1', 'test', { txHash, submittedAt: now }))
const state = async () => (await findPayment(database.reader, payment()))?.state

describe('an authorization', () => {
  it('an old reservation is deleted, but not while a late authorization is being settled', async () => {
    const nowSeconds = Date.parse(now) / 1000
    await reserve({ validBefore: nowSeconds - 86_400 })
    const drop = (beforeSeconds: number) =>
      database.write((tx) => dropStaleReservations(tx, beforeSeconds))
    expect(await drop(nowSeconds - 300)).toBe(0)
    expect(await state()).toBe('reserved')
    expect(await drop(nowSeconds + 1)).toBe(1)
    expect(await state()).toBeUndefined()
  })

  it('a submitted authorization cannot be released, since it may still settle', async () => {
    await reserve()
    await submit('0xaa')
    await database.write((tx) => releasePayment(tx, 'pay_1', 'test'))
    expect(await state()).toBe('submitted')
  })

  it('a failed authorization can be reserved again in the same row', async () => {
    await reserve()
    await submit('0xaa')
    expect(await database.write((tx) => failPayment(tx, 'pay_1', 'dead'))).toBe(true)
    expect(await reserve({ id: 'pay_2' })).toBe(true)
    expect(await listPayments(database.reader, { afterSeq: 0, limit: 9 })).toMatchObject([
      { seq: 1, id: 'pay_2', state: 'reserved', reason: null, txHash: null, submittedAt: null },
    ])
  })

  it('a settled authorization can neither fail nor be submitted again', async () => {
    await reserve()
    await submit('0xaa')
    await database.write((tx) => settlePayment(tx, 'pay_1', foundIn, now))
    expect(await database.write((tx) => failPayment(tx, 'pay_1', 'late'))).toBe(false)
    expect(await submit('0xcc')).toBe(false)
    expect(await state()).toBe('settled')
  })

  it('an authorization undone by a reorganisation can no longer be delivered', async () => {
    await reserve()
    await submit('0xaa')
    await database.write((tx) => settlePayment(tx, 'pay_1', foundIn, now))
    await database.write((tx) =>
      closePayment(tx, 'pay_1', { finality: 'undone', reason: 'a reorganisation' }),
    )
    expect(await database.write((tx) => claimDelivery(tx, 'pay_1', now))).toBe(false)
  })
})
