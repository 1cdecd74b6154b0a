/**
 * What the reference facilitator of x402 thinks of a payment and what the service does with it, side by side. Each
 * difference is meant, and stands here with its reason; one that does not stand here is a defect of ours.
 */
import type { x402Facilitator } from '@x402/core/facilitator'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'

import { startPaidService } from '../support/paid-service.ts'
import type { PaidService } from '../support/paid-service.ts'
import { facilitatorCall, referenceFacilitator } from '../support/reference-facilitator.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { startUsdcChain } from '../support/usdc-chain.ts'
import type { UsdcChain } from '../support/usdc-chain.ts'
import { chainAccount, headerOf } from '../support/x402-payment.ts'
import { hostilePayments } from './hostile-payments.ts'

allowSlowTests('starts anvil')

/** `throws`: the facilitator fails with a TypeError or the like, in place of a verdict. */
type ReferenceVerdict = 'takes' | 'refuses' | 'throws'
/** `malformed`: refused with 400, as no payment at all. */
type OurVerdict = 'takes' | 'refuses' | 'malformed'

/** Payments of which the two think differently, by what they think and why. */
interface Difference {
  readonly reference: ReferenceVerdict
  readonly ours: OurVerdict
  readonly why: string
  readonly payments: readonly string[]
}

const differences: readonly Difference[] = [
  {
    reference: 'takes',
    ours: 'refuses',
    why: 'Six seconds are three blocks of Base. A payment that runs out while it is on its way costs gas and buys nothing, so ten are asked for.',
    payments: ['valid for nine more seconds'],
  },
  {
    reference: 'takes',
    ours: 'refuses',
    why: 'What is paid for one read is not a cheque to be kept: an hour is the most. It also bounds how long a payment can be pending.',
    payments: ['valid for two hours', 'valid for ever'],
  },
  {
    reference: 'refuses',
    ours: 'takes',
    why: 'Some signers write the recovery id itself as the last byte. The token takes 27 and 28 alone, so the service writes those; it is the same signature.',
    payments: ['the recovery id 0 or 1'],
  },
  {
    reference: 'refuses',
    ours: 'takes',
    why: 'An address in capitals is the same 20 bytes. The reference reads its case as a checksum, and takes it in lower case.',
    payments: ['a payer in upper case'],
  },
  {
    reference: 'takes',
    ours: 'refuses',
    why: 'The facilitator looks at the signature alone and leaves it to its caller to compare what was accepted with what is asked for. The service is that caller.',
    payments: ['accepts less', 'accepts another receiver', 'accepts another token'],
  },
  {
    reference: 'takes',
    ours: 'malformed',
    why: 'One amount has one spelling. The reference reads numbers as JavaScript does (`BigInt(" 2000 ")`, `BigInt("0x7d0")`), and so a text may mean one thing to it and another to a reader that is stricter.',
    payments: [
      'accepts an amount that is a number',
      'a value that is a number',
      'a value with spaces',
      'a hexadecimal value',
      'a value with a leading zero',
      'a value with a sign',
      'a value in a list',
      'a time that is a number',
      'a time with spaces',
    ],
  },
  {
    reference: 'throws',
    ours: 'malformed',
    why: 'The facilitator takes the form of a payment for granted and fails with a TypeError or SyntaxError; the service says which member is wrong.',
    payments: [
      'no signature',
      'a signature that is null',
      'a signature that is a number',
      'accepts null',
      'accepts nothing',
      'a value with decimals',
      'a value with an exponent',
      'a value that is null',
      'a value of letters',
      'a value that is missing',
      'a time that is missing',
      'a payload that is null',
      'an empty payload',
      'a payload that is a list',
      'a payload without an authorization',
      'an authorization that is null',
      'half a payment by Permit2',
      'version 3',
      'a version that is text',
      'no version',
    ],
  },
]

const amountMicroUsdc = 2000n
let chain: UsdcChain
let paid: PaidService
let reference: x402Facilitator

beforeAll(async () => {
  chain = await startUsdcChain()
  paid = await startPaidService({ chain })
  reference = referenceFacilitator(chain.url)
  await chain.fund(chainAccount('facilitator').address)
})

// Both read the same clock, which stands: how long a payment is valid does not hang on how fast the test runs.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
  return () => vi.useRealTimers()
})

afterAll(async () => {
  await paid.stop()
  await chain.stop()
})

async function referenceVerdict(payment: unknown, version: 1 | 2): Promise<ReferenceVerdict> {
  // What the header would carry: members that are undefined are not there.
  const asSent: unknown = JSON.parse(JSON.stringify(payment))
  const requirements = await paid.terms('/api/v1/alerts/feed', version)
  const { paymentPayload, paymentRequirements } = facilitatorCall.parse({
    x402Version: version,
    paymentPayload: asSent,
    paymentRequirements: requirements,
  })
  try {
    const { isValid } = await reference.verify(paymentPayload, paymentRequirements)
    return isValid ? 'takes' : 'refuses'
  } catch {
    return 'throws'
  }
}

async function ourVerdict(payment: unknown): Promise<OurVerdict> {
  const response = await fetch(`${paid.url}/api/v1/alerts/feed`, {
    headers: { 'PAYMENT-SIGNATURE': headerOf(payment) },
  })
  await response.arrayBuffer()
  if (response.status === 200) return 'takes'
  if (response.status === 400) return 'malformed'
  expect(response.status).toBe(402)
  return 'refuses'
}

describe('the service and the reference facilitator agree, except for the listed differences, on a payment', () => {
  it.each(hostilePayments)('$name', async ({ name, version, pay }) => {
    const payer = chainAccount(`payer of: ${name}`)
    await chain.mint(payer.address, 10n * amountMicroUsdc)
    const payment = await pay({ payer, receiver: paid.receiver, amountMicroUsdc, chain })
    const hadBefore = await chain.balanceOf(payer.address)
    const theirs = await referenceVerdict(payment, version)
    const ours = await ourVerdict(payment)
    const charged = hadBefore - (await chain.balanceOf(payer.address))
    expect(charged).toBe(ours === 'takes' ? amountMicroUsdc : 0n)
    const listed = differences.find(({ payments }) => payments.includes(name))
    if (listed === undefined) {
      expect(theirs).not.toBe('throws')
      expect(ours === 'takes').toBe(theirs === 'takes')
    } else {
      expect({ theirs, ours }).toEqual({ theirs: listed.reference, ours: listed.ours })
    }
  })

  it('and every listed difference exists once in the table', () => {
    const names = hostilePayments.map(({ name }) => name)
    expect(names).toEqual([...new Set(names)])
    const listed = differences.flatMap(({ payments }) => payments)
    expect(listed).toEqual([...new Set(listed)])
    expect(listed.filter((name) => !names.includes(name))).toEqual([])
  })

  it('and no transaction of the settler failed', async () => {
    const sent = await chain.sentBy(paid.settler)
    expect(sent.filter(({ succeeded }) => !succeeded)).toEqual([])
  })
})
