import { beginningOf } from '../../src/core/parse-early.ts'
import type { RpcError } from '../../src/outbound/json-rpc.ts'
import { SourceError } from '../sources/http.ts'
import { chains } from './chains.ts'
import type { ChainName } from './chains.ts'

export class ChainNotConfigured extends Error {
  override readonly name = 'ChainNotConfigured'
  constructor(chain: ChainName) {
    super(`no RPC is set for ${chain} (${chains[chain].rpcSetting})`)
  }
}

export class ChainError extends SourceError {
  override readonly name = 'ChainError'
  /** Code of the JSON-RPC error; null if the failure was not a JSON-RPC error. */
  readonly code: number | null

  constructor(
    message: string,
    options: ConstructorParameters<typeof SourceError>[1] & { readonly code?: number } = {},
  ) {
    super(message, options)
    this.code = options.code ?? null
  }
}

const maxNodeText = 160
/** The internal error of JSON-RPC, and the HTTP status that some nodes use as a code. */
const busyCodes: readonly number[] = [-32_603, 429]
const busyWords = /rate|per second|too many requests|quota|credits|capacity/i
const sizeWords =
  /range|too (?:many|large|big|wide)|limit|exceed|more than|response size|timed? ?out|deadline|\d+ blocks/i

/** Returns an error whose message may be published: it is shortened and contains no secrets. */
export function nodeError(name: string, rpcUrl: string, { code, message }: RpcError): ChainError {
  const text = beginningOf(message)
  const isBusy = busyWords.test(text) || busyCodes.includes(code)
  return new ChainError(`${name}: error ${code}: ${publicText(text, rpcUrl)}`, {
    code,
    isTransient: isBusy,
    isTooLarge: !isBusy && sizeWords.test(text),
  })
}

/** Removes URLs, parts of the RPC URL and control characters. */
function publicText(text: string, rpcUrl: string): string {
  let clean = text.replaceAll(/\w+:\/\/\S+/g, '[address]')
  for (const secret of secretsOf(rpcUrl)) clean = clean.replaceAll(secret, '[removed]')
  // oxlint-disable-next-line no-control-regex -- control characters are what is removed
  return clean.replaceAll(/[\u0000-\u001F\u007F-\u009F]+/g, ' ').slice(0, maxNodeText)
}

function secretsOf(rpcUrl: string): readonly string[] {
  if (!URL.canParse(rpcUrl)) return []
  const { pathname, searchParams, username, password } = new URL(rpcUrl)
  return [...pathname.split('/'), ...searchParams.values(), username, password].filter(
    (part) => part.length >= 6,
  )
}
