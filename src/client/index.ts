/** The module `agent-income-ledger/client` of the npm package (scripts/package.ts). */
import { setTimeout as sleep } from 'node:timers/promises'

import { createClient as createClientFrom } from './client.ts'
import type { ClientOptions, LedgerClient } from './client.ts'

export type { LedgerClient } from './client.ts'
export {
  CallError,
  LedgerError,
  LedgerUnreachableError,
  OldSetError,
  PaymentRequiredError,
  UnexpectedAnswerError,
} from './errors.ts'
export { newestOath } from './sign.ts'
export { signReceipt } from './sign-receipt.ts'
export { KeyFormatError, parseSecretKey, receiptKeyOf, secretKeyText, signerOf } from './signers.ts'
export type { ReceiptKey, SecretKey, WalletSigner } from './signers.ts'

/** Only `baseUrl` is required. @throws CallError if it is not a valid ledger address, or a key of the log is malformed */
export function createClient({
  serviceName = 'agent-income-ledger',
  fetch: send = (input, init) => fetch(input, init),
  clock = { now: Date.now, sleep: (delayMs, signal) => sleep(delayMs, undefined, { signal }) },
  random = { bytes: (length) => crypto.getRandomValues(new Uint8Array(length)) },
  ...options
}: Pick<ClientOptions, 'baseUrl'> & Partial<ClientOptions>): LedgerClient {
  return createClientFrom({ ...options, serviceName, fetch: send, clock, random })
}
