/** Payment terms of x402 v1 and v2, scheme `exact` on EVM networks (EIP-3009). */
import { z } from 'zod'

import { microPerUsdc, parseUsdc } from '../core/money.ts'
import type { Route } from './route.ts'
import { model, list, text } from './schemas/common.ts'
import { errorFields } from './schemas/service.ts'

/** USDC on Base, the only accepted asset. `eip712` is the domain of signed authorizations. */
export const paymentAsset = {
  chainId: 8453,
  network: { v1: 'base', v2: 'eip155:8453' },
  address: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
  decimals: 6,
  eip712: { name: 'USD Coin', version: '2' },
} as const

/** Bytes of a signature, of a payment, and of all headers. A test compares what repeats them, such as nginx.conf. */
export const headerLimits = { signature: 2048, payment: 10_240, all: 16_384 } as const

export const paymentScheme = 'exact' as const
/** Maximum age of a signed authorization. */
export const PAYMENT_TIMEOUT_SECONDS = 120

export const PAYMENT_IDENTIFIER = 'payment-identifier'
/** In a payment, `id` names the purchase: a repeat with the same name is not charged. */
export const identifierInfo = z.object({
  required: z.boolean(),
  id: z.optional(z.string().regex(/^[\w-]{16,128}$/)),
})
const schema = z.toJSONSchema(identifierInfo, { io: 'input' })
export const identifierExtension = { [PAYMENT_IDENTIFIER]: { info: { required: false }, schema } }

export interface PaymentTerms {
  /** Absolute address, derived from the site URL, never from a request. */
  readonly resource: string
  readonly description: string
  readonly mimeType: string
  readonly amountMicroUsdc: number
  /** EIP-55. */
  readonly payTo: string
}

/** @param resource absolute address of the request. */
export function termsOf(
  route: Pick<Route, 'summary' | 'offer' | 'answers'> & { readonly price: string },
  resource: string,
  payTo: string,
): PaymentTerms {
  return {
    resource,
    description: route.offer ?? route.summary,
    mimeType: route.answers[200]?.contentType ?? 'application/json',
    amountMicroUsdc: microUsdcOf(route.price),
    payTo,
  }
}

/** What the terms are for, with what catalogues show of the service: at most 32 characters of the name, and 5 tags. */
export function resourceOf({ resource: url, description, mimeType }: PaymentTerms) {
  return {
    url,
    description,
    mimeType,
    serviceName: 'Agent Income Ledger',
    tags: ['ai-agents', 'income', 'reputation', 'data'],
    iconUrl: new URL('/favicon.svg', url).href,
  }
}

const shared = (payTo: string) => ({
  payTo,
  asset: paymentAsset.address,
  maxTimeoutSeconds: PAYMENT_TIMEOUT_SECONDS,
  extra: { ...paymentAsset.eip712 },
})

/** An entry of `accepts` in version 1. Omits `outputSchema`, since clients of that version refuse null. */
export function acceptsV1(terms: PaymentTerms) {
  const { resource, description, mimeType, amountMicroUsdc, payTo } = terms
  return {
    scheme: paymentScheme,
    network: paymentAsset.network.v1,
    maxAmountRequired: String(amountMicroUsdc),
    resource,
    description,
    mimeType,
    ...shared(payTo),
  }
}

/** An entry of `accepts` in version 2, which lists the resource once, outside the entries. */
export function acceptsV2(terms: Pick<PaymentTerms, 'amountMicroUsdc' | 'payTo'>) {
  return {
    scheme: paymentScheme,
    network: paymentAsset.network.v2,
    amount: String(terms.amountMicroUsdc),
    ...shared(terms.payTo),
  }
}

/** Micro-USDC of a price in the registry. @throws Error if it is not an amount */
export function microUsdcOf(price: string): number {
  const micro = parseUsdc(price)
  if (micro === null || micro === 0) throw new Error(`${price} is not a price`)
  return micro
}

/** Micro-USDC as the shortest decimal. */
export function decimalUsdc(amountMicroUsdc: number): string {
  const whole = Math.floor(amountMicroUsdc / microPerUsdc)
  const fraction = String(amountMicroUsdc % microPerUsdc).padStart(6, '0')
  return `${whole}.${fraction}`.replace(/\.?0+$/, '')
}

const decimalAmount = z
  .string()
  .regex(/^\d{1,16}$/)
  .describe('Micro-USDC.')
const sharedFields = {
  payTo: text(42),
  asset: text(42).describe('USDC on Base.'),
  maxTimeoutSeconds: z.int().min(1).max(3600),
  extra: z
    .object({ name: text(40), version: text(10) })
    .describe('The EIP-712 domain of the asset.'),
}

export type X402AcceptedV1 = z.infer<typeof acceptedV1>
export const acceptedV1 = model('X402AcceptedV1', {
  scheme: z.enum([paymentScheme]),
  network: z.enum([paymentAsset.network.v1]),
  maxAmountRequired: decimalAmount,
  resource: z.url().max(2048),
  description: text(500),
  mimeType: text(100),
  ...sharedFields,
})

export const acceptedV2 = model('X402AcceptedV2', {
  scheme: z.enum([paymentScheme]),
  network: z.enum([paymentAsset.network.v2]),
  amount: decimalAmount,
  ...sharedFields,
})

/** The body of a 402: the error and the challenge of version 1. The challenge of version 2 is a header. */
export const paymentChallenge = model('PaymentChallenge', {
  ...errorFields,
  x402Version: z.int().min(1).max(1).optional(),
  accepts: list(acceptedV1, 4)
    .optional()
    .describe('The accepted payments; missing or empty if payment is not available.'),
})
