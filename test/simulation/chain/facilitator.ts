/** A facilitator of a third party (x402 specification v2, section 7). Its answers may be lies. */
import { z } from 'zod'

import type { Fetch } from '../../../src/core/deps.ts'
import type { Process } from '../machine.ts'
import type { AnswerOutcome } from './answer-faults.ts'
import type { ChainDeps } from './node.ts'
import { digest } from './usdc.ts'
import type { Authorization, Refusal } from './usdc.ts'

const reasons = {
  used: 'invalid_exact_evm_payload_authorization_nonce',
  expired: 'invalid_exact_evm_payload_authorization_valid_before',
  early: 'invalid_exact_evm_payload_authorization_valid_after',
  signature: 'invalid_exact_evm_payload_signature',
  funds: 'insufficient_funds',
} as const satisfies Record<Refusal, string>

const hexText = z.string().transform((text) => text.toLowerCase())
const asked = z.object({
  paymentPayload: z.object({
    payload: z.object({
      signature: hexText,
      authorization: z.object({
        from: hexText,
        to: hexText,
        value: z.string().transform(BigInt),
        validAfter: z.coerce.number(),
        validBefore: z.coerce.number(),
        nonce: hexText,
      }),
    }),
  }),
})

export function askFacilitator(deps: ChainDeps, process: Process): Fetch {
  const { machine, chance, answerFaults } = deps
  return async (input, { body, signal } = {}) => {
    const { pathname } = new URL(String(input))
    const outcome = answerFaults.next()
    const authorization = typeof body === 'string' ? authorizationIn(body) : null
    if (pathname === '/settle' && authorization !== null) deps.handedOver(authorization, null)
    const isEarly = outcome !== 'cuts off' && outcome !== 'refuses' && chance.happens(0.5)
    const early = isEarly ? respond(deps, pathname, authorization, outcome) : null
    if (outcome === 'stalls') {
      if (signal instanceof AbortSignal) answerFaults.stall(signal)
      return await new Promise(() => undefined)
    }
    return await machine.answer(process, `${pathname} ${outcome}`, () => {
      if (outcome === 'cuts off') throw new TypeError('fetch failed')
      if (outcome === 'refuses') return new Response('{"error":"busy"}', { status: 503 })
      const answer = early ?? respond(deps, pathname, authorization, outcome)
      if (outcome === 'cuts off late') throw new TypeError('terminated')
      return new Response(outcome === 'babbles' ? '<html>' : JSON.stringify(answer))
    })
  }
}

function authorizationIn(body: string): Authorization {
  const { signature, authorization } = asked.parse(JSON.parse(body)).paymentPayload.payload
  return { ...authorization, signature }
}

function respond(
  { chain, chance }: ChainDeps,
  path: string,
  authorization: Authorization | null,
  outcome: AnswerOutcome,
): object {
  if (authorization === null) {
    return { kinds: [{ x402Version: 2, scheme: 'exact', network: 'eip155:8453' }] }
  }
  const refusal = chain.refusalOf(authorization)
  const isLie = outcome === 'lies'
  const transfer = { kind: 'transfer', ...authorization } as const
  const txHash = digest(`facilitated ${authorization.nonce} ${chance.below(2 ** 32)}`)
  const submit = (): void => {
    chain.submit({ hash: txHash, call: transfer, walletNonce: null })
  }
  if (path === '/verify') {
    if (!isLie) {
      return refusal === null
        ? { isValid: true }
        : { isValid: false, invalidReason: reasons[refusal] }
    }
    // It may submit a payment that it should only verify.
    if (chance.happens(0.3)) submit()
    return refusal === null
      ? { isValid: false, invalidReason: chance.pick(Object.values(reasons)) }
      : { isValid: true }
  }
  if (!isLie) {
    if (refusal !== null) return { success: false, errorReason: reasons[refusal], transaction: '' }
    submit()
    return { success: true, transaction: txHash }
  }
  const lie = chance.pick(['nothing was sent', 'it failed', 'another hash'] as const)
  if (lie !== 'nothing was sent' && refusal === null) submit()
  if (lie === 'it failed') return { success: false, errorReason: 'settle_failed', transaction: '' }
  return { success: true, transaction: lie === 'another hash' ? digest(`lie ${txHash}`) : txHash }
}
