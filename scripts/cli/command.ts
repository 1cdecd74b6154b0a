/** The definition of a command. Help, parsing and dispatch follow from it. */
import type { z } from 'zod'

import type { Input } from './input.ts'
import type { Session } from './session.ts'

export interface Operand {
  readonly name: string
  readonly doc: string
  readonly schema?: z.ZodType | undefined
}

export interface Option extends Omit<Operand, 'name'> {
  /** Placeholder in the help; flags have none. */
  readonly value?: string
  readonly required?: true
  /** Repeatable. */
  readonly many?: true
}

export type Options = Readonly<Record<string, Option>>

export interface Command {
  /** Such as `receipt post`. */
  readonly words: string
  readonly summary: string
  /** Further lines of the help. */
  readonly description?: string
  readonly operands?: readonly Operand[]
  readonly options: Options
  /** Returns the exit code, or nothing for 0. */
  readonly run: (session: Session, input: Input) => Promise<number | void>
}

export const outputOptions: Options = {
  json: { doc: 'print one JSON value instead of text' },
  help: { doc: 'print this help' },
}
export const ledgerOptions: Options = {
  ledger: {
    value: 'url',
    doc: 'address of the ledger (default: LEDGER_URL, else http://localhost:8787)',
  },
  service: {
    value: 'name',
    doc: 'service name in signed messages (default: LEDGER_SERVICE, else agent-income-ledger)',
  },
}
export const keyOptions: Options = {
  'key-file': {
    value: 'path',
    doc: 'file with the private key of the wallet, mode 600 (default: LEDGER_KEY_FILE or LEDGER_KEY)',
  },
}
export const previewOptions: Options = {
  'print-curl': { doc: 'print the signed request as a curl command and send nothing' },
  'dry-run': { doc: 'print the texts to sign, each with its SHA-256, and send nothing' },
}
export const repeatOptions: Options = {
  'idempotency-key': {
    value: 'text',
    doc: 'repeating a request with the same key returns the first answer',
  },
}
export const paymentOptions: Options = {
  'payment-file': { value: 'path', doc: 'file with an x402 payment in base64' },
}
export const signingKeysOptions: Options = {
  keys: {
    value: 'path',
    doc: 'a trusted copy of signing-keys.json (default: the keys published with the document)',
  },
}
