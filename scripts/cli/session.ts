import type { Call } from '../../src/client/call.ts'
import { createClient } from '../../src/client/client.ts'
import { receiptKeyOf, signerOf } from '../../src/client/signers.ts'
import type { AnswerOf } from '../../src/contract/route-types.ts'
import type { RouteId } from '../../src/contract/routes.ts'
import { prettySorted } from '../../src/core/canonical-json.ts'
import type { Clock, Fetch, Random } from '../../src/core/deps.ts'
import { UsageError } from './input.ts'
import type { Input } from './input.ts'
import { findKey } from './key-file.ts'
import { curlCommand, describe, plain } from './output.ts'

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

export type Session = ReturnType<typeof createSession>

const defaultUrl = 'http://localhost:8787'
const defaultService = 'agent-income-ledger'

export function createSession(deps: CliDeps, input: Input) {
  const { environment, clock, random, write } = deps
  const baseUrl =
    input.text('ledger') ?? input.text('site') ?? environment['LEDGER_URL'] ?? defaultUrl
  const serviceName = input.text('service') ?? environment['LEDGER_SERVICE'] ?? defaultService
  const options = { baseUrl, serviceName, clock, random, fetch: warningOfLimits(deps) }
  const reader = () => createClient(options)
  const walletKey = () => findKey(input.text('key-file'), 'LEDGER_KEY', environment)
  /** @throws UsageError without a key */
  const signer = async () => {
    const key = walletKey()
    if (key !== null) return await signerOf(key)
    throw new UsageError('no key: use --key-file, LEDGER_KEY_FILE or LEDGER_KEY')
  }
  /** Prints `text`, or JSON with `--json`. */
  const print = (value: object, text?: string) =>
    write(input.flag('json') ? prettySorted(value) : (text ?? describe(value)))
  return {
    ...deps,
    ledger: baseUrl,
    reader,
    signer,
    walletKey,
    print,
    /** @throws UsageError if `need` is `key` and there is none */
    client: async (need: 'key' | 'key-if-given') =>
      need === 'key-if-given' && walletKey() === null
        ? reader()
        : createClient({ ...options, signer: await signer() }),
    /** @throws UsageError without a key */
    receiptKey: (file: string | undefined) => {
      const key = findKey(file, 'LEDGER_RECEIPT_KEY', environment) ?? walletKey()
      if (key !== null) return receiptKeyOf(key)
      throw new UsageError(
        'no receipt key: create one with `keygen --kind ed25519 <file>` and use --receipt-key-file or LEDGER_RECEIPT_KEY_FILE',
      )
    },
    /** Sends a call and prints its answer, or only its request with `--dry-run` or `--print-curl`. */
    perform: async <Id extends RouteId>(
      call: Call<Id>,
      text?: (answer: AnswerOf<Id>) => string,
    ) => {
      const { method, url, signed } = call.request
      if (input.flag('dry-run')) {
        print({ method, url, signed }, describeSigned(call.request))
      } else if (input.flag('print-curl')) {
        write(curlCommand(call.request))
      } else {
        const answer = await reader().submit(call)
        const value: unknown = answer
        if (typeof value === 'string') print({ text: value }, plain(value).replace(/\n?$/, '\n'))
        else if (typeof value === 'object' && value !== null) print(value, text?.(answer))
      }
    },
  }
}

/** The client waits after a 429. Without a word, a command with many requests would seem to hang. */
function warningOfLimits({ fetch, warn }: Pick<CliDeps, 'fetch' | 'warn'>): Fetch {
  let hasWarned = false
  return async (...request) => {
    const answer = await fetch(...request)
    if (answer.status === 429 && !hasWarned) {
      hasWarned = true
      warn('The ledger limits requests: waiting as long as it asks.\n')
    }
    return answer
  }
}

function describeSigned({ method, url, signed }: Call<RouteId>['request']): string {
  const texts = signed.map(
    ({ carrier, text, sha256 }) => `\n${carrier} signs (SHA-256 ${sha256}):\n${text}\n`,
  )
  return `${method} ${url}\n${texts.length === 0 ? '\nThe request contains no signature.\n' : texts.join('')}`
}
