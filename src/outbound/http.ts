export interface HttpRequest {
  /** Sent as JSON; makes the request a POST. */
  readonly json?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Name of the request in errors; the default is method, host and path. Set `name` if the path contains a key. */
  readonly name?: string
  /** Replaces the signal of the client. */
  readonly signal?: AbortSignal | undefined
  /** Reads the body of an error status, for the error. */
  readonly readsErrors?: boolean
}

export interface HttpAnswer {
  /** Address at the source, even if `RAIL_BASE_URL_<RAIL>` sent the request elsewhere. */
  readonly url: string
  /** Parsed JSON whose strings contain no NUL characters. */
  readonly body: unknown
  readonly text: string
  /** Of the bytes of `text`. */
  readonly sha256: string
  readonly bytes: number
  readonly readFrom: string
  /** By `RAIL_BASE_URL_<RAIL>`. */
  readonly overridden: boolean
}

export interface Http {
  /** @throws SourceError without secrets, unless the answer is 2xx with JSON */
  readonly json: (url: string, request?: HttpRequest) => Promise<HttpAnswer>
}

/**
 * `unreachable`: no answer, or the source is too busy. `late`: no complete answer in time. `too large`: a request for less
 * data may succeed. `refused`: the same request will fail again. `malformed`: the answer has the wrong format.
 */
export type SourceFailure = 'unreachable' | 'late' | 'too large' | 'refused' | 'malformed'

type SourceErrorOptions = ErrorOptions & Partial<Pick<SourceError, 'retryAfterMs' | 'body'>>

/** A source that failed; its message is published as `poll_error`. */
export class SourceError extends Error {
  override readonly name: string = 'SourceError'
  readonly kind: SourceFailure
  readonly retryAfterMs: number | null
  /** JSON of an answer with an error status, if the request reads errors. */
  readonly body: unknown

  constructor(
    message: string,
    kind: SourceFailure = 'malformed',
    options: SourceErrorOptions = {},
  ) {
    super(message, options)
    this.kind = kind
    this.retryAfterMs = options.retryAfterMs ?? null
    this.body = options.body
  }

  /** True if the same request may succeed later. */
  get isTransient(): boolean {
    return this.kind === 'unreachable' || this.kind === 'late'
  }

  /** True if a request for less data may succeed: a source may also be late because of the amount. */
  get isTooLarge(): boolean {
    return this.kind === 'late' || this.kind === 'too large'
  }
}
