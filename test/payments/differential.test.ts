/**
 * What the reference facilitator of x402 thinks of a payment and what the service does with it, side by side. Each
 * difference is meant, and stands here with its reason; one that does not stand here is a defect of ours.
 */
import type { x402Facilitator } from '@x402/core/facilitator'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { startPaidService } from '../support/paid-service.ts'
import type { PaidService } from '../support/paid-service.ts'
import { referenceFacilitator } from '../support/reference-facilitator.ts'
import { facilitatorCall } from '../support/reference-facilitator.ts'
import { startUsdcChain } from '../support/usdc-chain.ts'
import type { UsdcChain } from '../support/usdc-chain.ts'
import { chainAccount, headerOf } from '../support/x402-payment.ts'
import { hostilePayments } from './hostile-payments.ts'

/** `throws`: the facilitator fails with a TypeError or the like, in place of a verdict. */
type ReferenceVerdict = 'takes' | 'refuses' | 'throws'
/** `malformed`: refused with 400, as no payment at all. */
type OurVerdict = 'takes' | 'refuses' | 'malformed'

interface Difference {
  readonly reference: ReferenceVerdict
  readonly ours: OurVerdict
  readonly why: string
}

const differences: Readonly<Record<string, Difference>> = {}

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

afterAll(async () => {
  await paid.stop()
  await chain.stop()
})

async function referenceVerdict(payment: unknown, version: 1 | 2): Promise<ReferenceVerdict> {
  const requirements = await paid.terms('/api/v1/alerts/feed', version)
  const { paymentPayload, paymentRequirements } = facilitatorCall.parse({
    x402Version: version,
    // What the header would carry: members that are undefined are not there.
    paymentPayload: JSON.parse(JSON.stringify(payment)),
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

describe('the service and the reference facilitator agree, but where it is meant, on a payment', () => {
  it.each(hostilePayments)('$name', async ({ name, version, pay }) => {
    const payer = chainAccount(`payer of: ${name}`)
    await chain.mint(payer.address, 10n * amountMicroUsdc)
    const payment = await pay({ payer, receiver: paid.receiver, amountMicroUsdc, chain })
    const hadBefore = await chain.balanceOf(payer.address)
    const theirs = await referenceVerdict(payment, version)
    const ours = await ourVerdict(payment)
    const charged = hadBefore - (await chain.balanceOf(payer.address))
    expect(charged).toBe(ours === 'takes' ? amountMicroUsdc : 0n)
    const listed = differences[name]
    if (listed !== undefined) {
      expect({ theirs, ours }).toEqual({ theirs: listed.reference, ours: listed.ours })
      return
    }
    expect(theirs).not.toBe('throws')
    expect(ours === 'takes').toBe(theirs === 'takes')
  })

  it('and the list of differences names no payment that is not in the table', () => {
    const names = hostilePayments.map(({ name }) => name)
    expect(names).toEqual([...new Set(names)])
    expect(Object.keys(differences).filter((name) => !names.includes(name))).toEqual([])
  })

  it('and no transaction of the settler failed', async () => {
    const sent = await chain.sentBy(paid.settler)
    expect(sent.filter(({ succeeded }) => !succeeded)).toEqual([])
  })
})
