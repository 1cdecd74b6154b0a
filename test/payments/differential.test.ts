/** Compares the service with x402's reference facilitator. Intended differences are listed with a reason; others fail. */
import type { x402Facilitator } from '@x402/core/facilitator'
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'

import { price, usePaidService } from '../support/payment-tests.ts'
import { facilitatorCall, referenceFacilitator } from '../support/reference-facilitator.ts'
import { chainAccount, headerOf } from '../support/x402-payment.ts'
import { hostilePayments } from './hostile-payments.ts'

/** `throws`: the facilitator throws, for example a TypeError. */
type ReferenceVerdict = 'accepts' | 'refuses' | 'throws'
/** `malformed`: refused with 400. */
type OurVerdict = 'accepts' | 'refuses' | 'malformed'

/** Payments with different verdicts, and the reason. */
interface Difference {
  readonly reference: ReferenceVerdict
  readonly ours: OurVerdict
  readonly why: string
  readonly payments: readonly string[]
}

const differences: readonly Difference[] = [
  {
    reference: 'accepts',
    ours: 'refuses',
    why: 'A payment that expires during settlement costs gas and buys nothing, so the service requires ten more seconds; the reference requires six, three blocks of Base.',
    payments: ['valid for nine more seconds'],
  },
  {
    reference: 'accepts',
    ours: 'refuses',
    why: 'The service accepts payments that are valid for at most an hour, which also bounds how long a payment can be pending.',
    payments: ['valid for two hours', 'valid for ever'],
  },
  {
    reference: 'refuses',
    ours: 'accepts',
    why: 'Some signers end the signature with the recovery id. The token accepts only 27 and 28, so the service converts the last byte of the same signature.',
    payments: ['the recovery id 0 or 1'],
  },
  {
    reference: 'refuses',
    ours: 'accepts',
    why: 'An upper-case address has the same 20 bytes. The reference reads upper case as a wrong checksum.',
    payments: ['a payer in upper case'],
  },
  {
    reference: 'accepts',
    ours: 'refuses',
    why: 'The facilitator checks the signature alone; comparing the accepted terms with the offer is up to its caller, here the service.',
    payments: ['accepts less', 'accepts another receiver', 'accepts another token'],
  },
  {
    reference: 'accepts',
    ours: 'malformed',
    why: 'The service accepts one spelling of each number. The reference parses numbers as JavaScript does (`BigInt(" 2000 ")`, `BigInt("0x7d0")`), which a stricter parser may reject.',
    payments: [
      'accepts an amount that is a number',
      'a value that is a number',
      'a value with spaces',
      'a hexadecimal value',
      'a value with a leading zero',
      'a value with a sign',
      'a time that is a number',
    ],
  },
  {
    reference: 'throws',
    ours: 'malformed',
    why: 'The facilitator does not check the form of a payment and throws; the service names the wrong member.',
    payments: [
      'no signature',
      'a signature that is null',
      'a signature that is a number',
      'accepts null',
      'accepts nothing',
      'a value that is missing',
      'a time that is missing',
      'a payload that is null',
      'an empty payload',
      'a payload without an authorization',
      'half a payment by Permit2',
      'version 3',
      'no version',
    ],
  },
]

const paid = usePaidService()
let reference: x402Facilitator

beforeAll(async () => {
  reference = referenceFacilitator(paid.chain.url)
  await paid.chain.fund(chainAccount('facilitator').address)
})

// A stopped clock for both, so that the remaining validity does not depend on the speed of the test.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
  return () => vi.useRealTimers()
})

async function referenceVerdict(payment: unknown, version: 1 | 2): Promise<ReferenceVerdict> {
  // As sent in the header, without undefined members.
  const asSent: unknown = JSON.parse(JSON.stringify(payment))
  const requirements = await paid.service.terms('/api/v1/alerts/feed', version)
  const { paymentPayload, paymentRequirements } = facilitatorCall.parse({
    x402Version: version,
    paymentPayload: asSent,
    paymentRequirements: requirements,
  })
  try {
    const { isValid } = await reference.verify(paymentPayload, paymentRequirements)
    return isValid ? 'accepts' : 'refuses'
  } catch {
    return 'throws'
  }
}

async function ourVerdict(payment: unknown): Promise<OurVerdict> {
  const response = await fetch(`${paid.service.url}/api/v1/alerts/feed`, {
    headers: { 'PAYMENT-SIGNATURE': headerOf(payment) },
  })
  await response.arrayBuffer()
  if (response.status === 200) return 'accepts'
  if (response.status === 400) return 'malformed'
  expect(response.status).toBe(402)
  return 'refuses'
}

describe('the service and the reference facilitator', () => {
  it.each(hostilePayments)('verdict on the payment: $name', async ({ name, version, pay }) => {
    const payer = chainAccount(`payer of: ${name}`)
    const { chain } = paid
    const { receiver } = paid.service
    await chain.mint(payer.address, 10n * price)
    const payment = await pay({ payer, receiver, amountMicroUsdc: price, chain })
    const balance = await chain.balanceOf(payer.address)
    const theirs = await referenceVerdict(payment, version)
    const ours = await ourVerdict(payment)
    const charged = balance - (await chain.balanceOf(payer.address))
    expect(charged).toBe(ours === 'accepts' ? price : 0n)
    const listed = differences.find(({ payments }) => payments.includes(name))
    if (listed === undefined) {
      expect(theirs).not.toBe('throws')
      expect(ours === 'accepts').toBe(theirs === 'accepts')
    } else {
      expect({ theirs, ours }).toEqual({ theirs: listed.reference, ours: listed.ours })
    }
  })

  it('every listed difference from the reference facilitator exists once in the table', () => {
    const names = hostilePayments.map(({ name }) => name)
    expect(names).toEqual([...new Set(names)])
    const listed = differences.flatMap(({ payments }) => payments)
    expect(listed).toEqual([...new Set(listed)])
    expect(listed.filter((name) => !names.includes(name))).toEqual([])
  })

  it('no transaction of the settler failed for a hostile payment', async () => {
    const sent = await paid.chain.sentBy(paid.service.settler)
    expect(sent.filter(({ succeeded }) => !succeeded)).toEqual([])
  })
})
