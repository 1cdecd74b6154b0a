/** What can be said of a payment without asking anybody: whether it is for these terms, in time, and by the payer. */
import { recoverSigner } from '../auth/eip191.ts'
import type { ErrorCode } from '../contract/errors.ts'
import { paymentAsset, paymentScheme } from '../contract/x402.ts'
import type { PaymentTerms } from '../contract/x402.ts'
import { secondMs } from '../core/time.ts'
import type { Authorization } from './authorization.ts'
import type { DecodedPayment } from './codec.ts'
import { transferDigest } from './transfer.ts'

/** Why a payment buys nothing, for the payer. */
export interface PaymentProblem {
  readonly code: ErrorCode
  readonly details: string
}

/** A block may be that far away, so less is not worth a try. */
const LEAST_LIFE_SECONDS = 10
/** More is no payment for one request. */
export const MOST_LIFE_SECONDS = 3600

/** Compares what the payer signed and says with what is asked for; nothing of it is believed. */
export function termsProblem(
  { version, claimed, authorization }: DecodedPayment,
  terms: PaymentTerms,
): PaymentProblem | null {
  const amount = String(terms.amountMicroUsdc)
  const payTo = terms.payTo.toLowerCase()
  const asset = paymentAsset.address.toLowerCase()
  const { amount: said = amount, asset: saidAsset = asset, payTo: saidPayTo = payTo } = claimed
  const differences = [
    ['scheme', claimed.scheme, paymentScheme],
    ['network', claimed.network, version === 2 ? paymentAsset.network.v2 : paymentAsset.network.v1],
    ['asset', saidAsset.toLowerCase(), asset],
    ['amount', said, amount],
    ['payTo', saidPayTo.toLowerCase(), payTo],
    ['authorization.to', authorization.to, payTo],
    ['authorization.value', String(authorization.value), amount],
  ] as const
  for (const [name, found, wanted] of differences) {
    if (found !== wanted) {
      return { code: 'payment_mismatch', details: `${name} is ${found} and must be ${wanted}` }
    }
  }
  return null
}

/** Whether the authorization can still settle, and is for now. */
export function timeProblem(
  { validAfter, validBefore }: Pick<Authorization, 'validAfter' | 'validBefore'>,
  nowMs: number,
): PaymentProblem | null {
  const now = BigInt(Math.floor(nowMs / secondMs))
  if (validAfter >= now) {
    return { code: 'payment_expired', details: `validAfter must be before now, ${now}` }
  }
  if (validBefore < now + BigInt(LEAST_LIFE_SECONDS)) {
    const least = `validBefore must be ${LEAST_LIFE_SECONDS} seconds after now, ${now}, or later`
    return { code: 'payment_expired', details: least }
  }
  if (validBefore > now + BigInt(MOST_LIFE_SECONDS)) {
    const most = `validBefore must be within ${MOST_LIFE_SECONDS} seconds of now, ${now}`
    return { code: 'payment_expired', details: most }
  }
  return null
}

/** Whether it had its time, and that is over, or as good as over: nothing that is sent from now on settles it. */
export function hasExpired(
  { validAfter, validBefore }: Pick<Authorization, 'validAfter' | 'validBefore'>,
  nowMs: number,
): boolean {
  const now = BigInt(Math.floor(nowMs / secondMs))
  return validAfter < validBefore && validBefore < now + BigInt(LEAST_LIFE_SECONDS)
}

/** Whether the payer's own key signed. A contract wallet's signature is not told from a wrong one here. */
export async function isSignedByKey(authorization: Authorization): Promise<boolean> {
  const signer = await recoverSigner(transferDigest(authorization), authorization.signature)
  return signer === authorization.from
}
