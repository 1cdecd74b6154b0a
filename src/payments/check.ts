import { recoverSigner } from '../auth/eip191.ts'
import type { ErrorCode } from '../contract/errors.ts'
import { paymentAsset, paymentScheme } from '../contract/x402.ts'
import type { PaymentTerms } from '../contract/x402.ts'
import { secondMs } from '../core/time.ts'
import type { Authorization } from './authorization.ts'
import type { DecodedPayment } from './codec.ts'
import { transferDigest } from './transfer.ts'

export interface PaymentProblem {
  readonly code: ErrorCode
  readonly details: string
}

/** A settlement can take this long, since the next block may be this far away. */
const LEAST_LIFE_SECONDS = 10
export const MOST_LIFE_SECONDS = 3600

export function termsProblem(
  { version, claimed, authorization }: DecodedPayment,
  terms: PaymentTerms,
): PaymentProblem | null {
  const amount = String(terms.amountMicroUsdc)
  const payTo = terms.payTo.toLowerCase()
  const asset = paymentAsset.address.toLowerCase()
  const { amount: claimedAmount = amount, asset: claimedAsset = asset } = claimed
  const { payTo: claimedPayTo = payTo } = claimed
  const differences = [
    ['scheme', claimed.scheme, paymentScheme],
    ['network', claimed.network, version === 2 ? paymentAsset.network.v2 : paymentAsset.network.v1],
    ['asset', claimedAsset.toLowerCase(), asset],
    ['amount', claimedAmount, amount],
    ['payTo', claimedPayTo.toLowerCase(), payTo],
    ['authorization.to', authorization.to, payTo],
    ['authorization.value', String(authorization.value), amount],
  ] as const
  for (const [name, found, wanted] of differences) {
    if (found !== wanted) {
      return { code: 'payment_mismatch', details: `${name} is ${found} but must be ${wanted}` }
    }
  }
  return null
}

/** Returns null if the authorization is valid now and long enough to settle. */
export function timeProblem(
  { validAfter, validBefore }: Pick<Authorization, 'validAfter' | 'validBefore'>,
  nowMs: number,
): PaymentProblem | null {
  const now = BigInt(Math.floor(nowMs / secondMs))
  const least = now + BigInt(LEAST_LIFE_SECONDS)
  const most = now + BigInt(MOST_LIFE_SECONDS)
  if (validAfter >= now) return expired(`validAfter must be before now, ${now}`)
  if (validBefore < least) {
    return expired(`validBefore must be ${LEAST_LIFE_SECONDS} seconds after now, ${now}, or later`)
  }
  if (validBefore <= most) return null
  return expired(`validBefore must be within ${MOST_LIFE_SECONDS} seconds of now, ${now}`)
}

function expired(details: string): PaymentProblem {
  return { code: 'payment_expired', details }
}

export function hasExpired(
  { validAfter, validBefore }: Pick<Authorization, 'validAfter' | 'validBefore'>,
  nowMs: number,
): boolean {
  const now = BigInt(Math.floor(nowMs / secondMs))
  return validAfter < validBefore && validBefore < now + BigInt(LEAST_LIFE_SECONDS)
}

export async function isSignedByKey(authorization: Authorization): Promise<boolean> {
  const signer = await recoverSigner(transferDigest(authorization), authorization.signature)
  return signer === authorization.from
}
