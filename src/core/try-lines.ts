/** Lines of NDJSON with invented or exported payments, as `rules try` and `reputation try` read them. */
import { z } from 'zod'

import { maxAmountUsdc, microPerUsdc } from './money.ts'
import type { WalletFacts } from './rules/facts.ts'
import { parseTime } from './time.ts'

export class TryLineError extends Error {
  override readonly name = 'TryLineError'

  constructor(line: number, problem: string) {
    super(`line ${line}: ${problem}`)
  }
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

export const tryTransfer = z
  .object({ at: tryTime, from: tryWallet, to: tryWallet, amount_usdc: tryAmount })
  .transform(({ amount_usdc: microUsdc, ...transfer }) => ({ ...transfer, microUsdc }))

export const notListed: WalletFacts = {
  listedHub: false,
  ageDays: 0,
  recipients: 0,
  contract: null,
}

/** A wallet without an age and recipients is not a hub, unless it is listed. */
export const tryWalletFacts = z
  .object({
    address: tryWallet,
    listed_hub: z.boolean().nullish(),
    age_days: z.number().min(0).nullish(),
    recipients: z.int().min(0).nullish(),
    senders: z.int().min(0).nullish(),
    contract: z.boolean().nullish(),
  })
  .transform(({ address, age_days: ageDays = null, recipients = null, ...wallet }) => {
    const senders = wallet.senders ?? null
    const isTested = ageDays !== null || recipients !== null || senders !== null
    const [listedHub, contract] = [wallet.listed_hub === true, wallet.contract ?? null]
    const tested = isTested ? { ageDays, recipients, senders } : {}
    return [address, { ...notListed, ...tested, listedHub, contract }] as const
  })

/** Yields each line with its number; empty lines are left out. @throws TryLineError that names the line */
export function* readTryLines<T>(
  schema: z.ZodType<T>,
  lines: Iterable<string>,
): Generator<readonly [line: T, number: number]> {
  let number = 0
  for (const text of lines) {
    number += 1
    if (text.trim() !== '') yield [parseTryLine(schema, text, number), number]
  }
}

function parseTryLine<T>(schema: z.ZodType<T>, text: string, number: number): T {
  let value: unknown = null
  try {
    value = JSON.parse(text)
  } catch {
    throw new TryLineError(number, 'is not JSON')
  }
  const { data, error } = schema.safeParse(value)
  if (error === undefined) return data
  const [issue] = error.issues
  const path = issue?.path.join('.') ?? ''
  throw new TryLineError(number, `${path === '' ? '' : `${path}: `}${issue?.message ?? ''}`)
}
