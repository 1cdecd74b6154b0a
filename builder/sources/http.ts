export interface HttpRequest {
  /** Sent as JSON; makes the request a POST. */
  readonly json?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Name of the request in errors; the default is method, host and path. Set `name` if the path contains a key. */
  readonly name?: string
}

export interface HttpAnswer {
  /** Address at the source, even if `RAIL_BASE_URL_<RAIL>` sent the request elsewhere. */
  readonly url: string
  /** Parsed JSON whose strings contain no NUL characters. */
  readonly body: unknown
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

type SourceErrorOptions = ErrorOptions &
  Partial<Pick<SourceError, 'isTransient' | 'isTooLarge' | 'retryAfterMs'>>

/** A source that failed; its message is published as `poll_error`. */
export class SourceError extends Error {
  override readonly name: string = 'SourceError'
  /** True if the same request may succeed later. */
  readonly isTransient: boolean
  /** True if a request for less data may succeed. */
  readonly isTooLarge: boolean
  readonly retryAfterMs: number | null

  constructor(message: string, options: SourceErrorOptions = {}) {
    super(message, options)
    this.isTransient = options.isTransient ?? false
    this.isTooLarge = options.isTooLarge ?? false
    this.retryAfterMs = options.retryAfterMs ?? null
  }
}
