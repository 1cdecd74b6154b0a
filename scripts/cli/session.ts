import type { Call } from '../../src/client/call.ts'
import { createClient } from '../../src/client/client.ts'
import type { LedgerClient } from '../../src/client/client.ts'
import { receiptKeyOf, signerOf } from '../../src/client/signers.ts'
import type { ReceiptKey, WalletSigner } from '../../src/client/signers.ts'
import type { AnswerOf } from '../../src/contract/route-types.ts'
import type { RouteId } from '../../src/contract/routes.ts'
import type { Clock, Fetch, Random } from '../../src/core/deps.ts'
import { UsageError } from './input.ts'
import type { Input } from './input.ts'
import { findKey } from './key-file.ts'
import { curlCommand, describe, json } from './output.ts'

export interface CliDeps {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly clock: Clock
  readonly random: Random
  readonly fetch: Fetch
  /** Writes to standard output. */
  readonly write: (text: string) => void
  /** Writes to standard error. */
  readonly warn: (text: string) => void
}

export interface Session extends CliDeps {
  readonly ledger: string
  readonly reader: () => LedgerClient
  /** @throws UsageError if `need` is `key` and there is none */
  readonly client: (need: 'key' | 'key-if-given') => Promise<LedgerClient>
  /** @throws UsageError without a key */
  readonly signer: () => Promise<WalletSigner>
  /** @throws UsageError without a key */
  readonly receiptKey: (file: string | undefined) => ReceiptKey
  /** Prints `text`, or JSON with `--json`. */
  readonly print: (value: object, text?: string) => void
  /** Sends a call and prints its answer, or only its request with `--dry-run` or `--print-curl`. */
  readonly perform: <Id extends RouteId>(
    call: Call<Id>,
    text?: (answer: AnswerOf<Id>) => string,
  ) => Promise<void>
}

const defaultUrl = 'http://localhost:8787'
const defaultService = 'agent-income-ledger'

export function createSession(deps: CliDeps, input: Input): Session {
  const { environment, clock, random, fetch, write } = deps
  const baseUrl = input.text('ledger') ?? environment['LEDGER_URL'] ?? defaultUrl
  const serviceName = input.text('service') ?? environment['LEDGER_SERVICE'] ?? defaultService
  const options = { baseUrl, serviceName, clock, random, fetch }
  const reader = () => createClient(options)
  const walletKey = () => findKey(input.text('key-file'), 'LEDGER_KEY', environment)
  const signer = async () => {
    const key = walletKey()
    if (key !== null) return await signerOf(key)
    throw new UsageError('no key: use --key-file, LEDGER_KEY_FILE or LEDGER_KEY')
  }
  const print = (value: object, text?: string) =>
    write(input.flag('json') ? json(value) : (text ?? describe(value)))
  return {
    ...deps,
    ledger: baseUrl,
    reader,
    signer,
    client: async (need) =>
      need === 'key-if-given' && walletKey() === null
        ? reader()
        : createClient({ ...options, signer: await signer() }),
    receiptKey: (file) => {
      const key = findKey(file, 'LEDGER_RECEIPT_KEY', environment) ?? walletKey()
      if (key !== null) return receiptKeyOf(key)
      throw new UsageError(
        'no receipt key: create one with `keygen --kind ed25519 <file>` and use --receipt-key-file or LEDGER_RECEIPT_KEY_FILE',
      )
    },
    print,
    perform: async (call, text) => {
      const { method, url, signed } = call.request
      if (input.flag('dry-run')) {
        print({ method, url, signed }, describeSigned(call.request))
      } else if (input.flag('print-curl')) {
        write(curlCommand(call.request))
      } else {
        const answer = await reader().submit(call)
        const value: unknown = answer
        const shown = typeof value === 'object' && value !== null ? value : { answer: value }
        print(shown, text?.(answer))
      }
    },
  }
}

function describeSigned({ method, url, signed }: Call<RouteId>['request']): string {
  const texts = signed.map(
    ({ carrier, text, sha256 }) => `\n${carrier} signs (SHA-256 ${sha256}):\n${text}\n`,
  )
  return `${method} ${url}\n${texts.length === 0 ? '\nThe request contains no signature.\n' : texts.join('')}`
}
