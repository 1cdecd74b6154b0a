/** The HTTP server: its time-outs and bounds, what it says to bytes that are no request, and its end. */
import { createServer, STATUS_CODES } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

import type { Failure } from '../contract/errors.ts'
import type { Clock } from '../core/deps.ts'
import type { ErrorAnswer } from './errors.ts'

/** Node's own are 60 s and 300 s, looked at every 30 s: time enough to hold all connections open. */
const HEADERS_TIMEOUT_MS = 5000
const REQUEST_TIMEOUT_MS = 10_000
const CHECK_INTERVAL_MS = 1000
/** Longer than nginx keeps an idle connection (60 s), so that it is never us who close on a request. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000
/** A reader that takes nothing for this long is gone. */
const SOCKET_TIMEOUT_MS = 60_000
const MAX_HEADER_BYTES = 8192
/** None beside the bytes: Node drops the headers above a number, where the gate refuses them. */
const NO_HEADER_COUNT_LIMIT = 0
const MAX_CONNECTIONS = 10_000
/** How often the end looks for connections that have become idle. */
const DRAIN_INTERVAL_MS = 25

export interface ServeOptions {
  readonly host: string
  /** 0 takes a free one. */
  readonly port: number
  readonly clock: Pick<Clock, 'sleep'>
  readonly failureAnswer: (failure: Failure) => ErrorAnswer
  /** Above it a connection is closed when it comes; 10,000 unless told. */
  readonly maxConnections?: number
  /** A connection on which nothing has moved for so long is ended; 60 s unless told. */
  readonly socketTimeoutMs?: number
}

export interface RunningServer {
  readonly address: { readonly host: string; readonly port: number }
  /**
   * Takes no more connections, lets requests finish for up to `graceMs`, then cuts what is left.
   * True where nothing had to be cut.
   */
  readonly close: (graceMs: number) => Promise<boolean>
}

/** Listens. Rejects where the address cannot be had. */
export async function serve(
  listener: (req: IncomingMessage, res: ServerResponse) => void,
  options: ServeOptions,
): Promise<RunningServer> {
  const { host, port, clock, failureAnswer } = options
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_INTERVAL_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
      // The gate asks for it, with the error body that Node's own answer lacks.
      requireHostHeader: false,
    },
    listener,
  )
  server.maxHeadersCount = NO_HEADER_COUNT_LIMIT
  server.maxConnections = options.maxConnections ?? MAX_CONNECTIONS
  server.timeout = options.socketTimeoutMs ?? SOCKET_TIMEOUT_MS
  server.on('clientError', (error, socket) => {
    refuseBytes(socket, failureAnswer(parseFailure(error)))
  })
  server.on('connect', (_req, socket) => {
    refuseBytes(socket, failureAnswer(foreignMethod))
  })
  // Expectations other than 100-continue may be ignored (RFC 9110 section 10.1.1).
  server.on('checkExpectation', listener)
  await listen(server, host, port)
  const bound = server.address()
  if (bound === null || typeof bound === 'string') throw new Error('the server has no TCP address')
  return {
    address: { host: bound.address, port: bound.port },
    close: (graceMs) => close(server, clock, graceMs),
  }
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.removeListener('error', reject)
      resolve()
    })
  })
}

const foreignMethod: Failure = {
  code: 'method_not_allowed',
  headers: { Allow: 'GET, HEAD, POST, PATCH, DELETE, OPTIONS' },
}

/** By the codes of Node's parser; everything else is a malformed request. */
const parseFailures: Readonly<Record<string, Failure>> = {
  HPE_INVALID_METHOD: foreignMethod,
  HPE_HEADER_OVERFLOW: { code: 'headers_too_large' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { code: 'body_too_large', details: 'Chunk extensions' },
  ERR_HTTP_REQUEST_TIMEOUT: { code: 'request_timeout' },
}

function parseFailure(error: Error): Failure {
  const code = 'code' in error ? String(error.code) : ''
  return parseFailures[code] ?? { code: 'malformed_request' }
}

/** Says it over the bare socket and closes: what follows on it cannot be understood. */
function refuseBytes(socket: Duplex, answer: ErrorAnswer): void {
  if (!socket.writable || isAnswered(socket)) {
    socket.destroy()
    return
  }
  const headers = { ...answer.headers, Connection: 'close' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const statusLine = `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? ''}\r\n`
  socket.end(`${statusLine}${lines.join('')}\r\n${answer.body}`)
}

/**
 * True where part of another answer is on its way, which a second one would end up inside of, and where the answer has
 * gone out before its request was whole: a second one would be taken for that of the next request.
 */
function isAnswered(socket: Duplex): boolean {
  const message: unknown = Reflect.get(socket, '_httpMessage')
  if (message instanceof Object) return Reflect.get(message, 'headersSent') === true
  const parser: unknown = Reflect.get(socket, 'parser')
  const incoming: unknown = parser instanceof Object ? Reflect.get(parser, 'incoming') : null
  return incoming instanceof Object && Reflect.get(incoming, 'complete') === false
}

async function close(
  server: Server,
  clock: Pick<Clock, 'sleep'>,
  graceMs: number,
): Promise<boolean> {
  const ended = new Promise<true>((resolve) => {
    server.close(() => resolve(true))
  })
  for (let waitedMs = 0; waitedMs < graceMs; waitedMs += DRAIN_INTERVAL_MS) {
    // A connection becomes idle when its answer is out; kept alive, it would hold the server open.
    server.closeIdleConnections()
    const hasEnded = await Promise.race([ended, clock.sleep(DRAIN_INTERVAL_MS)])
    if (hasEnded === true) return true
  }
  server.closeAllConnections()
  await ended
  return false
}
