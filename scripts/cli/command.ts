/** The definition of a command. Help, parsing and dispatch follow from it. */
import type { z } from 'zod'

import type { Input } from './input.ts'
import type { Session } from './session.ts'

export interface Operand {
  readonly name: string
  readonly doc: string
  /** Checks what was typed. */
  readonly schema?: z.ZodType | undefined
}

export interface Option extends Omit<Operand, 'name'> {
  /** Placeholder of the value in the help; a flag has none. */
  readonly value?: string
  readonly required?: true
  /** May be given more than once. */
  readonly many?: true
}

export type Options = Readonly<Record<string, Option>>

export interface Command {
  /** As it is typed, such as `receipt post`. */
  readonly words: string
  readonly summary: string
  /** Further lines of the help. */
  readonly description?: string
  readonly operands?: readonly Operand[]
  readonly options: Options
  /** Returns the exit code, or nothing for 0. */
  readonly run: (session: Session, input: Input) => Promise<number | void>
}

/** Options that commands share. */
export const outputOptions: Options = {
  json: { doc: 'print one JSON value instead of text' },
  help: { doc: 'print this help' },
}
export const ledgerOptions: Options = {
  ledger: { value: 'url', doc: 'site of the ledger; LEDGER_URL, else http://localhost:8787' },
  service: {
    value: 'name',
    doc: 'service name in signed messages; LEDGER_SERVICE, else agent-income-ledger',
  },
}
export const keyOptions: Options = {
  'key-file': {
    value: 'path',
    doc: 'file of the wallet’s private key, readable by you alone; else LEDGER_KEY_FILE or LEDGER_KEY',
  },
}
export const previewOptions: Options = {
  'print-curl': { doc: 'print the signed request as a curl command and send nothing' },
  'dry-run': { doc: 'print the texts to sign, each with its SHA-256, and send nothing' },
}
export const repeatOptions: Options = {
  'idempotency-key': {
    value: 'text',
    doc: 'a repeat under the same key returns the first answer again',
  },
}
export const paymentOptions: Options = {
  'payment-file': { value: 'path', doc: 'file with an x402 payment in base64' },
}
export const signingKeysOptions: Options = {
  keys: {
    value: 'path',
    doc: 'a signing-keys.json that you saved earlier; else the keys published beside the document are trusted',
  },
}
