/** Settles through an external facilitator (x402 v2, section 7); transfers are always confirmed on-chain. */
import { z } from 'zod'

import { acceptsV2, paymentAsset, paymentScheme, resourceOf } from '../contract/x402.ts'
import type { Clock, Fetch } from '../core/deps.ts'
import { readLimited } from '../outbound/read-limited.ts'
import { outageText, withTimeout } from '../outbound/timeout.ts'
import { SettlementUnavailableError, outageProblem, unavailabilityOf } from './authorization.ts'
import type { Authorization } from './authorization.ts'
import type { createCdpTokens } from './cdp-token.ts'
import type { PaymentOffer } from './challenge.ts'
import type { SettlementRefusal, Settler } from './settler.ts'

export interface FacilitatorDeps {
  readonly url: string
  readonly fetch: Fetch
  readonly clock: Pick<Clock, 'sleep'>
  /** Null for facilitators that are open to all. */
  readonly tokenFor: ReturnType<typeof createCdpTokens> | null
}

const VERIFY_TIMEOUT_MS = 8000
const SETTLE_TIMEOUT_MS = 30_000
const MAX_ANSWER_BYTES = 64 * 1024

const verifyAnswer = z.object({
  isValid: z.boolean(),
  invalidReason: z.string().max(200).optional(),
})
const settleAnswer = z.object({
  success: z.boolean(),
  errorReason: z.string().max(200).optional(),
  transaction: z.string().max(100).optional(),
})
const supportedAnswer = z.object({
  kinds: z.array(z.object({ x402Version: z.number(), scheme: z.string(), network: z.string() })),
})
const transactionHash = /^0x[0-9a-f]{64}$/

export function createFacilitator(deps: FacilitatorDeps): Settler {
  const fetchJson = async <Schema extends z.ZodType>(
    path: '/verify' | '/settle' | '/supported',
    schema: Schema,
    body: object | null,
    timeoutMs: number,
  ): Promise<z.infer<Schema>> => {
    const method = body === null ? 'GET' : 'POST'
    const url = new URL(`${deps.url}${path}`)
    const token = deps.tokenFor?.(method, url)
    const headers = {
      'accept-encoding': 'identity',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(body === null ? {} : { 'content-type': 'application/json' }),
    }
    const form = { method, headers, ...(body === null ? {} : { body: JSON.stringify(body) }) }
    try {
      const bytes = await withTimeout({ timeoutMs, clock: deps.clock }, async (signal) => {
        const options = { ...form, redirect: 'error', signal } as const
        return await readLimited(await deps.fetch(url, options), MAX_ANSWER_BYTES)
      })
      return schema.parse(JSON.parse(new TextDecoder().decode(bytes)))
    } catch (error) {
      throw new SettlementUnavailableError(`The facilitator ${outageText(error)}`, { cause: error })
    }
  }
  return {
    mode: 'facilitator',
    async check(authorization, offer) {
      const payment = requestOf(authorization, offer)
      const { isValid, invalidReason } = await fetchJson(
        '/verify',
        verifyAnswer,
        payment,
        VERIFY_TIMEOUT_MS,
      )
      if (isValid) return { ok: true, gas: 0n }
      return { ok: false, refusal: refusalOf(invalidReason) }
    },
    async submit(authorization, { offer }, record) {
      // The next request may send the transaction, whatever the response.
      await record(null)
      const payment = requestOf(authorization, offer)
      const settling = fetchJson('/settle', settleAnswer, payment, SETTLE_TIMEOUT_MS)
      if ((await unavailabilityOf(settling)) !== null) return null
      const { success, errorReason, transaction = '' } = await settling
      const hash = transaction.toLowerCase()
      if (transactionHash.test(hash)) return hash
      const refusal = refusalOf(errorReason)
      return !success && hash === '' && definite.test(refusal.code) ? refusal : null
    },
    resetNonce: () => undefined,
    async inspect() {
      const answer = fetchJson('/supported', supportedAnswer, null, VERIFY_TIMEOUT_MS)
      const outage = await unavailabilityOf(answer)
      if (outage !== null) return [outageProblem(outage)]
      const { kinds } = await answer
      const settles = kinds.some(
        ({ x402Version, scheme, network }) =>
          x402Version === 2 && scheme === paymentScheme && network === paymentAsset.network.v2,
      )
      return settles ? [] : ['settlement: the facilitator does not settle exact payments on Base']
    },
  }
}

/** Uses the form of version 2 with the offer of this service, never what the payer repeats of it. */
function requestOf(
  { signature, ...fields }: Authorization,
  { terms, catalogued }: PaymentOffer,
): object {
  const requirements = acceptsV2(terms)
  const { from, to, value, validAfter, validBefore, nonce } = fields
  const authorization = {
    from,
    to,
    value: String(value),
    validAfter: String(validAfter),
    validBefore: String(validBefore),
    nonce,
  }
  return {
    x402Version: 2,
    paymentPayload: {
      x402Version: 2,
      resource: resourceOf(terms),
      accepted: requirements,
      payload: { signature, authorization },
      ...(catalogued === undefined ? {} : { extensions: catalogued }),
    },
    paymentRequirements: requirements,
  }
}

const refusalCodes: readonly (readonly [RegExp, SettlementRefusal['code']])[] = [
  [/nonce|already_used|canceled/i, 'authorization_already_used'],
  [/insufficient(?!.*gas)/i, 'insufficient_funds'],
  [/valid_before|valid_after|expired/i, 'payment_expired'],
  [/signature/i, 'payment_signature_invalid'],
]
/** These lie in the payment itself. With the others, the transfer may have happened. */
const definite = /funds|expired|signature/

function refusalOf(invalidReason = ''): SettlementRefusal {
  const shown = invalidReason.replaceAll(/[^\w .:-]/g, ' ')
  const code = refusalCodes.find(([pattern]) => pattern.test(shown))?.[1] ?? 'payment_refused'
  return { code, message: `The facilitator refuses the payment: ${shown}` }
}
