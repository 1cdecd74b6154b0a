/** What a command is. Help, parsing and dispatch are made from this and from nothing else. */
import type { Input } from './input.ts'
import type { Session } from './session.ts'

export interface Operand {
  readonly name: string
  readonly doc: string
}

export interface Option {
  readonly doc: string
  /** What stands for the value in the help; a flag has none. */
  readonly value?: string
  readonly required?: true
  /** May be given more than once. */
  readonly many?: true
}

export interface Command {
  /** As it is typed, such as `receipt post`. */
  readonly words: string
  readonly summary: string
  /** More than one line, where one is not enough. */
  readonly description?: string
  readonly operands?: readonly Operand[]
  readonly options?: Readonly<Record<string, Option>>
  /** Adds what all commands of a kind have: the address, the key, what is printed instead of sent. */
  readonly kind: 'local' | 'read' | 'sold' | 'signed' | 'write' | 'admin'
  /** The exit code; 0 where nothing is returned. */
  readonly run: (session: Session, input: Input) => Promise<number | void>
}

/** How every command ends. */
export const exitCodes = { ok: 0, refused: 1, usage: 2, unreachable: 3 } as const

const output: Readonly<Record<string, Option>> = {
  json: { doc: 'print one JSON value instead of text' },
  help: { doc: 'print this help' },
}
const address: Readonly<Record<string, Option>> = {
  ledger: { value: 'url', doc: 'site of the ledger; LEDGER_URL, else http://localhost:8787' },
  service: {
    value: 'name',
    doc: 'name that stands in signed messages; LEDGER_SERVICE, else agent-income-ledger',
  },
}
const key: Readonly<Record<string, Option>> = {
  'key-file': {
    value: 'path',
    doc: 'file of the wallet’s private key, readable by you alone; else LEDGER_KEY_FILE or LEDGER_KEY',
  },
}
const shown: Readonly<Record<string, Option>> = {
  'print-curl': { doc: 'print the signed request as a curl command and send nothing' },
  'dry-run': { doc: 'print what would be signed, with its SHA-256, and send nothing' },
}
const repeats: Readonly<Record<string, Option>> = {
  'idempotency-key': { value: 'text', doc: 'key under which a repeat is answered like the first' },
}

/** Of commands that may be paid for. */
export const paymentFile: Readonly<Record<string, Option>> = {
  'payment-file': {
    value: 'path',
    doc: 'file with the x402 payment, in base64 as it stands in its header',
  },
}

const shared: Readonly<Record<Command['kind'], Readonly<Record<string, Option>>>> = {
  local: output,
  admin: output,
  read: { ...address, ...output },
  sold: { ...paymentFile, ...key, ...shown, ...address, ...output },
  signed: { ...key, ...shown, ...address, ...output },
  write: { ...key, ...repeats, ...shown, ...address, ...output },
}

/** The command's own options, then those of its kind. */
export function optionsOf(command: Command): Readonly<Record<string, Option>> {
  return { ...command.options, ...shared[command.kind] }
}
