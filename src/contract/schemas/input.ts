/** Fields of request bodies. Values are never trimmed, rounded or corrected. */
import { z } from 'zod'

import { mixesScripts } from '../../core/look-alike.ts'
import { parseUsdc } from '../../core/money.ts'
import { memoized } from '../../core/remember.ts'
import { parseTime } from '../../core/time.ts'
import { WalletError, readWallet } from '../../core/wallet.ts'
import { text } from './common.ts'

/** An EVM address, a Solana address or a NEAR implicit account. */
export const walletInput = z
  .string()
  .min(32)
  .max(64)
  .superRefine((text, context) => {
    const found = readWallet(text)
    if (found instanceof WalletError) context.addIssue({ code: 'custom', message: found.message })
  })
  .meta({ example: '0x52908400098527886E0F7030069857D2E4169EE7' })

export const timeInput = text(35)
  .refine((text) => parseTime(text) !== null, 'must be an RFC 3339 time (in a query, + is %2B)')
  .meta({ format: 'date-time', example: '2026-11-21T06:00:00.000Z' })

/** Fits the longest signature of a contract wallet: 8,192 bytes in hex. */
export const signatureInput = z
  .string()
  .min(1)
  .max(16_386)
  .describe('EIP-191 as 0x and 130 lower-case hex digits, or ed25519 in base58, base64 or hex.')

/** Fields of a body that a wallet signs. */
export const signedFields = { wallet: walletInput, timestamp: timeInput, signature: signatureInput }

export const amountInput = z
  .union([z.number(), text(20)])
  .refine((amount) => parseUsdc(amount) !== null, {
    message: 'must be 0 to 1,000,000,000 USDC with at most 6 decimals',
  })
  .describe('USDC with at most 6 decimals, as a number or a decimal string.')

/** Avoids `z.url`, which trims its input. */
export const httpsInput = text(2048)
  .refine((text) => isHttpsUrl(text), 'must be an https address without user name or password')
  .meta({ format: 'uri', example: 'https://ledger.example/work' })

/** RFC 3986: parsers disagree on a backslash, a quote or a bracket in the path. */
const HTTPS_URI =
  /^https:\/\/(?:[\w.~!$&'()*+,;=:@%-]+|\[[0-9A-Fa-f:.]+\](?::\d+)?)(?:[/?](?:[\w.~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?(?:#(?:[\w.~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?$/

function isHttpsUrl(text: string): boolean {
  if (!HTTPS_URI.test(text) || !URL.canParse(text)) return false
  const { username, password } = new URL(text)
  return username === '' && password === ''
}

/** One line in NFC without control, bidirectional or zero-width characters, soft hyphens or outer spaces. */
export const lineInput = memoized((maxLength: number) => textOf(maxLength, UNFIT_FOR_LINES))

/** Text of several lines, otherwise like `lineInput`. */
export const textInput = memoized((maxLength: number) => textOf(maxLength, UNFIT_FOR_TEXT))

function textOf(maxLength: number, unfit: RegExp) {
  return z
    .string()
    .min(1)
    .max(maxLength)
    .refine((text) => !unfit.test(text), 'must not contain control characters or invisible marks')
    .refine((text) => text.normalize('NFC') === text, 'must be in Unicode normal form C')
    .refine((text) => text.trim() === text, 'must not begin or end with white space')
}

const INVISIBLE = String.raw`\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180B-\u180F\u200B-\u200F\u2028-\u202E\u2060-\u206F\u2800\u3164\uFEFF\uFFA0\uFFF9-\uFFFB\u{E0000}-\u{E0FFF}`
const UNFIT_FOR_LINES = new RegExp(String.raw`[\p{Cc}\p{Cn}\p{Co}${INVISIBLE}]`, 'u')
const UNFIT_FOR_TEXT = new RegExp(String.raw`(?![\n\t])[\p{Cc}\p{Cn}\p{Co}${INVISIBLE}]`, 'u')

/** A display name: a line whose words do not mix scripts that look alike. */
export const nameInput = lineInput(80)
  .refine(
    (text) => !mixesScripts(text),
    'must not mix Latin, Cyrillic and Greek letters in one word',
  )
  .refine(
    (text) => !/\p{M}{5}/u.test(text),
    'must not have more than four combining marks on one letter',
  )
