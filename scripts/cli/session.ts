/** What commands are given: the client, the keys, and where results go. */
import type { AnswerOf, Call } from '../../src/client/call.ts'
import { createClient } from '../../src/client/client.ts'
import type { LedgerClient } from '../../src/client/client.ts'
import { receiptKeyOf, signerOf } from '../../src/client/signers.ts'
import type { ReceiptKey, Signer } from '../../src/client/signers.ts'
import type { RouteId } from '../../src/contract/routes.ts'
import type { Clock, Fetch, Random } from '../../src/core/deps.ts'
import { curlOf } from './curl.ts'
import { UsageError } from './input.ts'
import type { Input } from './input.ts'
import { findKey } from './key-file.ts'
import { describe, json } from './output.ts'

/** The world of the command line. */
export interface Outside {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly random: Random
  readonly fetch: Fetch
  readonly write: (text: string) => void
  readonly warn: (text: string) => void
}

export interface Session extends Outside {
  /** Address of the ledger as it was given. */
  readonly ledger: string
  readonly serviceName: string
  /** A client without a key; for what is public. */
  readonly reader: () => LedgerClient
  /** A client that signs. @throws UsageError where no key is given. */
  readonly signing: () => Promise<LedgerClient>
  /** A client that signs where a key is given: for what partners read and everybody else pays for. */
  readonly paying: () => Promise<LedgerClient>
  readonly signer: () => Promise<Signer>
  /** The ed25519 key for receipts. @throws UsageError where none is given. */
  readonly receiptKey: (file: string | undefined) => ReceiptKey
  /** Prints a value: as it is with `--json`, else by `text`. */
  readonly print: (value: object, text?: string) => void
  /** Sends a call and prints its answer; or prints what would be sent. */
  readonly perform: <Id extends RouteId>(
    call: Call<Id>,
    text?: (answer: AnswerOf<Id>) => string,
  ) => Promise<void>
}

const defaultUrl = 'http://localhost:8787'
const defaultService = 'agent-income-ledger'

export function createSession(outside: Outside, input: Input): Session {
  const { environment, clock, random, fetch, write } = outside
  const baseUrl = input.text('ledger') ?? environment['LEDGER_URL'] ?? defaultUrl
  const serviceName = input.text('service') ?? environment['LEDGER_SERVICE'] ?? defaultService
  const options = { baseUrl, serviceName, clock, random, fetch }
  const reader = () => createClient(options)
  const signer = async () => {
    const key = findKey(input.text('key-file'), 'LEDGER_KEY', environment)
    if (key === null) {
      throw new UsageError('no key: give --key-file, or set LEDGER_KEY_FILE or LEDGER_KEY')
    }
    return await signerOf(key)
  }
  const print = (value: object, text?: string) =>
    write(input.flag('json') ? json(value) : (text ?? describe(value)))
  return {
    ...outside,
    ledger: baseUrl,
    serviceName,
    reader,
    signer,
    signing: async () => createClient({ ...options, signer: await signer() }),
    paying: async () => {
      const key = findKey(input.text('key-file'), 'LEDGER_KEY', environment)
      return key === null ? reader() : createClient({ ...options, signer: await signerOf(key) })
    },
    receiptKey: (file) => {
      const key =
        findKey(file, 'LEDGER_RECEIPT_KEY', environment) ??
        findKey(input.text('key-file'), 'LEDGER_KEY', environment)
      if (key === null) {
        throw new UsageError(
          'no key for receipts: make one with `keygen --kind ed25519 <file>`, then give --receipt-key-file or LEDGER_RECEIPT_KEY_FILE',
        )
      }
      return receiptKeyOf(key)
    },
    print,
    perform: async (call, text) => {
      const { request } = call
      if (input.flag('dry-run')) {
        const { method, url, signed } = request
        print({ method, url, signed }, describeSigned(request))
        return
      }
      if (input.flag('print-curl')) {
        write(curlOf(request))
        return
      }
      const answer = await reader().submit(call)
      const value: unknown = answer
      const shown = typeof value === 'object' && value !== null ? value : { answer: value }
      print(shown, text?.(answer))
    },
  }
}

function describeSigned({ method, url, signed }: Call<RouteId>['request']): string {
  const texts = signed.map(
    ({ carrier, text, sha256 }) => `\n${carrier} signs (SHA-256 ${sha256}):\n${text}\n`,
  )
  return `${method} ${url}\n${texts.length === 0 ? '\nNothing in it is signed.\n' : texts.join('')}`
}
