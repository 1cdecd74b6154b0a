/** What an adapter may do over HTTP; the implementation is in `http-client.ts`. */

export interface HttpRequest {
  readonly method?: 'GET' | 'POST'
  /** Sent as JSON; makes the request a POST. */
  readonly json?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** The path of the address holds a key, so errors name the host alone. */
  readonly secretPath?: boolean
}

export interface HttpAnswer {
  /** Address at the source, also where `RAIL_BASE_URL_<RAIL>` made the request go elsewhere. */
  readonly url: string
  readonly status: number
  /** Parsed JSON, NUL characters in strings removed. */
  readonly body: unknown
  /** Hex SHA-256 of the bytes received. */
  readonly sha256: string
  readonly bytes: number
}

export interface Http {
  /**
   * Fetches JSON: time-out, size limit, retries with jitter on network errors, 429 and 5xx.
   * Throws `SourceError` (no secrets in its message) on anything but a 2xx JSON answer.
   */
  readonly json: (url: string, request?: HttpRequest) => Promise<HttpAnswer>
}

/** A source that failed; its message is shown to the public as `poll_error`. */
export class SourceError extends Error {
  override readonly name = 'SourceError'
}
