import { once } from 'node:events'
import { createServer, STATUS_CODES } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

import type { Failure } from '../contract/errors.ts'
import { headerLimits } from '../contract/x402.ts'
import type { Clock } from '../core/deps.ts'
import { limitConnections } from './connections.ts'
import type { ConnectionOwners } from './connections.ts'
import type { ErrorAnswer } from './errors.ts'
import { METHODS } from './gate.ts'

/** Shorter than Node's 60 s and 300 s, against slow clients that hold all connections open. */
const HEADERS_TIMEOUT_MS = 5000
const REQUEST_TIMEOUT_MS = 10_000
const CHECK_INTERVAL_MS = 1000
/** Longer than nginx's 60 s, so that the service does not close a connection that nginx reuses. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000
const SOCKET_TIMEOUT_MS = 60_000
/** Disabled, since Node drops excess headers silently; `gate.ts` rejects them. */
const NO_HEADER_COUNT_LIMIT = 0
const MAX_CONNECTIONS = 10_000
const DRAIN_INTERVAL_MS = 25

export interface ServeOptions {
  readonly host: string
  readonly port: number
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>
  readonly failureAnswer: (failure: Failure) => ErrorAnswer
  /** Null without limits per network. */
  readonly connectionOwners?: ConnectionOwners | null
  readonly maxConnections?: number
  readonly socketTimeoutMs?: number
}

export interface RunningServer {
  readonly address: { readonly host: string; readonly port: number }
  /** Lets requests finish for up to `graceMs`, then closes all connections. Returns true if all requests finished. */
  readonly close: (graceMs: number) => Promise<boolean>
}

export async function serve(
  listener: (req: IncomingMessage, res: ServerResponse) => void,
  options: ServeOptions,
): Promise<RunningServer> {
  const { host, port, clock, failureAnswer } = options
  const server = createServer({
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    maxHeaderSize: headerLimits.all,
    // Checked in `gate.ts`, which responds with an error body.
    requireHostHeader: false,
  })
  server.maxHeadersCount = NO_HEADER_COUNT_LIMIT
  const stopLimiting = limitConnections(server, listener, {
    clock,
    maxConnections: options.maxConnections ?? MAX_CONNECTIONS,
    owners: options.connectionOwners ?? null,
  })
  server.timeout = options.socketTimeoutMs ?? SOCKET_TIMEOUT_MS
  server.on('clientError', (error, socket) => {
    refuseBytes(socket, failureAnswer(parseFailure(error)))
  })
  server.on('connect', (_req, socket) => {
    refuseBytes(socket, failureAnswer(foreignMethod))
  })
  return {
    address: await listen(server, host, port),
    close: async (graceMs) => {
      const isClean = await close(server, clock, graceMs)
      stopLimiting()
      return isClean
    },
  }
}

/** Connections that the kernel queues before they are accepted. It drops further ones, whose clients retry after 1 s or 3 s. */
const backlog = 4096

/** Returns the bound address. Rejects if the address is unavailable. */
export async function listen(
  server: Server,
  host: string,
  port: number,
): Promise<RunningServer['address']> {
  server.listen(port, host, backlog)
  await once(server, 'listening')
  const bound = server.address()
  if (bound === null || typeof bound === 'string') throw new Error('the server has no TCP address')
  return { host: bound.address, port: bound.port }
}

const foreignMethod: Failure = {
  code: 'method_not_allowed',
  headers: { Allow: METHODS.join(', ') },
}

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

function refuseBytes(socket: Duplex, answer: ErrorAnswer): void {
  if (!socket.writable || hasResponse(socket)) {
    socket.destroy()
    return
  }
  const headers = { ...answer.headers, Connection: 'close' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const statusLine = `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? ''}\r\n`
  socket.end(`${statusLine}${lines.join('')}\r\n${answer.body}`)
}

/** Returns true if a response has started, even before its request was complete: a second one would corrupt the stream. */
function hasResponse(socket: Duplex): boolean {
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
    // Idle keep-alive connections would keep the server open.
    server.closeIdleConnections()
    const hasEnded = await Promise.race([ended, clock.sleep(DRAIN_INTERVAL_MS)])
    if (hasEnded === true) return true
  }
  server.closeAllConnections()
  await ended
  return false
}
