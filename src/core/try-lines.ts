/** Lines of NDJSON with made-up or exported payments, as `rules try` and `reputation try` read them. */
import { z } from 'zod'

import { maxAmountUsdc, microPerUsdc } from './money.ts'
import { parseTime } from './time.ts'

export class TryLineError extends Error {
  override readonly name = 'TryLineError'
}

/** USDC to micro-USDC; further decimals are rounded. */
export const tryAmount = z
  .number()
  .min(0)
  .max(maxAmountUsdc)
  .transform((usdc) => Math.round(usdc * microPerUsdc))

export const tryTime = z.string().transform((text, context) => {
  const timeMs = parseTime(text)
  if (timeMs !== null) return timeMs
  context.addIssue({ code: 'custom', message: 'must be an RFC 3339 time' })
  return z.NEVER
})

/** Hex addresses are compared in lower case. */
export const tryWallet = z
  .string()
  .regex(/^\S{1,128}$/, 'must be 1 to 128 characters without spaces')
  .transform((text) => (/^0x[0-9a-f]+$/i.test(text) ? text.toLowerCase() : text))

export const tryTransfer = z.object({
  at: tryTime,
  from: tryWallet,
  to: tryWallet,
  amount_usdc: tryAmount,
})

export const tryWalletFacts = z.object({
  address: tryWallet,
  listed_hub: z.boolean().nullish(),
  age_days: z.number().min(0).nullish(),
  recipients: z.int().min(0).nullish(),
  contract: z.boolean().nullish(),
})

/** @throws TryLineError that names the line */
export function parseTryLine<T>(schema: z.ZodType<T>, text: string, number: number): T {
  let value: unknown = null
  try {
    value = JSON.parse(text)
  } catch {
    throw new TryLineError(`line ${number}: is not JSON`)
  }
  const { data, error } = schema.safeParse(value)
  if (error === undefined) return data
  const [issue] = error.issues
  const path = issue?.path.join('.') ?? ''
  throw new TryLineError(`line ${number}: ${path === '' ? '' : `${path}: `}${issue?.message ?? ''}`)
}
