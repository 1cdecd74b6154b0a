/** Help, parsing and dispatch follow from the definition of a command. */
import { z } from 'zod'

import type { Input } from './input.ts'
import type { Session } from './session.ts'

export interface Argument {
  readonly doc: string
  readonly schema?: z.ZodType | undefined
  readonly isOperand?: boolean
  /** Placeholder in the help. An option without it is a flag. */
  readonly value?: string
  readonly isRequired?: boolean
  readonly isRepeatable?: boolean
}

export type Arguments = Readonly<Record<string, Argument>>

export interface Command {
  /** Example: `receipt post`. */
  readonly words: string
  readonly summary: string
  /** Heading in the help. */
  readonly section?: string
  readonly description?: string | undefined
  /** Operands have the order of the command line. Every command also has `--json` and `--help`. */
  readonly args?: Arguments
  readonly groups?: readonly OptionGroup[]
  /** Returns the exit code; undefined means 0. */
  readonly run: (session: Session, input: Input) => Promise<number | void>
}

export const flag = (doc: string): Argument => ({ doc })
export const operand = (doc: string, schema?: z.ZodType): Argument => ({
  doc,
  schema,
  isOperand: true,
})
export const option = (value: string, doc: string, schema?: z.ZodType): Argument => ({
  value,
  doc,
  schema,
})
export const requiredOption = (...parts: Parameters<typeof option>): Argument => ({
  ...option(...parts),
  isRequired: true,
})

export const minutes = z.string().regex(/^[1-9]\d{0,6}$/, 'must be a number of minutes')

export const choice = (schema: z.ZodEnum, doc: string): Argument =>
  option(schema.options.join('|'), doc, schema)

const optionGroups = {
  signingKeys: {
    keys: option(
      'path',
      'a trusted copy of signing-keys.json (default: the keys published with the document)',
    ),
  },
  payment: {
    'payment-file': option('path', 'file with an x402 payment in base64'),
    'payer-signature': option('hex', 'signature of another wallet that pays for the partner'),
  },
  pay: {
    pay: flag('pay the price of the answer with the key, if it is not above --max-usdc'),
    'max-usdc': option('usdc', 'with --pay: the highest price to pay, such as 0.02'),
  },
  key: {
    'key-file': option(
      'path',
      'file with the private key of the wallet, mode 600 (default: LEDGER_KEY_FILE or LEDGER_KEY)',
    ),
  },
  repeat: {
    'idempotency-key': option(
      'text',
      'repeating a request with the same key returns the first answer',
    ),
  },
  preview: {
    'print-curl': flag('print the signed request as a curl command and send nothing'),
    'dry-run': flag('print the texts to sign, each with its SHA-256, and send nothing'),
  },
  ledger: {
    ledger: option(
      'url',
      'address of the ledger (default: LEDGER_URL, else http://localhost:8787)',
    ),
    service: option(
      'name',
      'service name in signed messages (default: LEDGER_SERVICE, else agent-income-ledger)',
    ),
  },
  log: {
    vkey: option('key', 'verifier key of the log (default: the one that the log publishes)'),
    witness: {
      ...option('key', 'verifier key of a witness that must have cosigned; may be repeated'),
      isRepeatable: true,
    },
    state: option('path', 'file with the newest checkpoint seen, which the log must continue'),
    'log-url': option('url', 'address of the log or of a copy (default: /log of the ledger)'),
  },
  output: {
    json: flag('print one JSON value instead of text'),
    help: flag('print this help'),
  },
} as const satisfies Record<string, Arguments>
export type OptionGroup = keyof typeof optionGroups

export function argumentsOf({ args = {}, groups = [] }: Command) {
  const shared = [...groups, 'output' as const].map((group): Arguments => optionGroups[group])
  const all = [args, ...shared].flatMap((some) => Object.entries(some))
  return {
    operands: all.filter(([, { isOperand }]) => isOperand === true),
    options: new Map(all.filter(([, { isOperand }]) => isOperand !== true)),
  }
}
