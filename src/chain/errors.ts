import { beginningOf } from '../core/parse-early.ts'
import { SourceError } from '../outbound/http.ts'
import type { SourceFailure } from '../outbound/http.ts'
import { outageText } from '../outbound/timeout.ts'
import { rpcSettingOf } from './chains.ts'
import type { ChainName } from './chains.ts'

export function notConfigured(chain: ChainName): string {
  return `no RPC is set for ${chain} (${rpcSettingOf(chain)})`
}

/** The error object of a JSON-RPC answer. Its text may contain secrets. */
export interface NodeRefusal {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

interface ChainErrorOptions extends ErrorOptions {
  readonly refusal?: NodeRefusal
  readonly retryAfterMs?: number | null
}

/** A node that failed. The message may be published: it contains no secrets. */
export class ChainError extends SourceError {
  override readonly name = 'ChainError'
  /** Null if the node did not answer with an error. */
  readonly refusal: NodeRefusal | null

  constructor(message: string, kind: SourceFailure = 'malformed', options: ChainErrorOptions = {}) {
    super(message, kind, options)
    this.refusal = options.refusal ?? null
  }
}

export class WrongChainError extends ChainError {}

export function refusalOf(error: unknown): NodeRefusal | null {
  return error instanceof ChainError ? error.refusal : null
}

/** Completes a sentence about the chain, for callers of the service. */
export function chainOutageText(error: unknown): string {
  if (!(error instanceof ChainError)) return outageText(error)
  if (error instanceof WrongChainError) return `is the wrong one: ${error.message}`
  if (error.refusal !== null) return 'returned an error'
  if (error.kind === 'malformed') return 'returned an invalid response'
  return error.kind === 'late' ? 'did not respond in time' : 'is unavailable'
}

const maxNodeText = 160
/** Of JSON-RPC. */
const internalError = -32_603
/** An HTTP status that some nodes use as a code. */
const tooManyRequests = 429
const busyWords = /rate|per second|too many requests|quota|credits|capacity/i
/** Also with the code of an internal error: the same request will fail again. */
const rangeWords =
  /range|too (?:many|large|big|wide)|more than|response size|smaller than|distance|maximum|\d+ blocks/i
const sizeWords = /limit|exceed|timed? ?out|deadline/i

/** The error of one call, or of all `calls` of a request, which can be split. `failure`: the HTTP status of the answer. */
export function nodeError(
  name: string,
  rpcUrl: string,
  refusal: NodeRefusal,
  { calls = 1, failure }: { readonly calls?: number; readonly failure?: SourceError } = {},
): ChainError {
  const { code, message, data } = refusal
  const text = beginningOf(message)
  // Some nodes give the reason only there.
  const reason = `${text} ${beginningOf(JSON.stringify(data ?? ''))}`
  const isRange = rangeWords.test(reason)
  const isBusy =
    failure?.isTransient === true ||
    busyWords.test(text) ||
    code === tooManyRequests ||
    (code === internalError && !isRange)
  const isTooLarge = calls > 1 || isRange || sizeWords.test(reason)
  const kind = isBusy ? 'unreachable' : isTooLarge ? 'too large' : 'refused'
  const { retryAfterMs = null } = failure ?? {}
  const shown = `${name}: error ${code}: ${publicText(text, rpcUrl)}`
  return new ChainError(shown, kind, { refusal, retryAfterMs })
}

/** Removes URLs, parts of the RPC URL and control characters. */
function publicText(text: string, rpcUrl: string): string {
  let clean = text.replaceAll(/\w+:\/\/\S+/g, '[address]')
  for (const secret of secretsOf(rpcUrl)) clean = clean.replaceAll(secret, '[removed]')
  // oxlint-disable-next-line no-control-regex -- control characters are removed
  return clean.replaceAll(/[\u0000-\u001F\u007F-\u009F]+/g, ' ').slice(0, maxNodeText)
}

function secretsOf(rpcUrl: string): readonly string[] {
  if (!URL.canParse(rpcUrl)) return []
  const { pathname, searchParams, username, password } = new URL(rpcUrl)
  return [...pathname.split('/'), ...searchParams.values(), username, password].filter(
    (part) => part.length >= 6,
  )
}
