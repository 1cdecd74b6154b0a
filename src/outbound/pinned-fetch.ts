/** One HTTPS request to an untrusted URL: resolved once to public addresses, without redirects or decompression. */
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import type { RequestOptions } from 'node:https'
import { isIPv6 } from 'node:net'

import { checkOutboundUrl } from '../core/outbound-url.ts'
import { secondMs } from '../core/time.ts'
import { isPublicAddress } from './public-address.ts'
import { TimeoutError, withTimeout } from './timeout.ts'

export interface OutboundRequest {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface OutboundLimits {
  readonly timeoutMs: number
  readonly maxAnswerBytes: number
  readonly signal?: AbortSignal
}

export interface OutboundAnswer {
  /** Can be 3xx, since redirects are not followed. */
  readonly status: number
  readonly contentType: string | null
  readonly body: Buffer | null
}

export type OutboundFault =
  | 'refused_url'
  | 'unresolved'
  | 'refused_address'
  | 'unreachable'
  | 'timeout'
  | 'too_large'

/** Messages may be shown to the caller who supplied the URL. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError'
  readonly fault: OutboundFault

  constructor(fault: OutboundFault, message: string) {
    super(message)
    this.fault = fault
  }
}

export type Resolve = (host: string) => Promise<readonly string[]>

export type PinnedFetch = (
  request: OutboundRequest,
  limits: OutboundLimits,
) => Promise<OutboundAnswer>

/** Replaces the Internet in tests; no setting creates it. */
export interface TestNetwork {
  readonly allowAddresses: readonly string[]
  readonly port: number
  readonly ca: string
}

export function createPinnedFetch(deps: {
  readonly resolve: Resolve
  readonly testNetwork?: TestNetwork
}): PinnedFetch {
  const { resolve, testNetwork } = deps
  return async (request, limits) => {
    const checked = checkOutboundUrl(request.url)
    if (!checked.ok) throw new OutboundError('refused_url', `The address ${checked.problem}`)
    const { url } = checked
    const answered = withTimeout(limits, async (signal) => {
      const address = await pinnedAddress(url.hostname, resolve, testNetwork)
      signal.throwIfAborted()
      const options = requestOptions(url, address, request, testNetwork)
      return await exchange({ ...options, signal }, { address, body: request.body, limits })
    })
    return await answered.catch((error: unknown) => {
      if (!(error instanceof TimeoutError)) throw error
      const text = `No complete response within ${limits.timeoutMs / secondMs} s`
      throw new OutboundError('timeout', text)
    })
  }
}

/** One forbidden address is enough to refuse the name, since the next look-up may return only that one. */
async function pinnedAddress(
  host: string,
  resolve: Resolve,
  testNetwork: TestNetwork | undefined,
): Promise<string> {
  let addresses: readonly string[]
  try {
    addresses = await resolve(host)
  } catch {
    throw new OutboundError('unresolved', 'The host name does not resolve')
  }
  const [first] = addresses
  if (first === undefined) throw new OutboundError('unresolved', 'The host name has no address')
  const isAllowed = (address: string) =>
    isPublicAddress(address) || testNetwork?.allowAddresses.includes(address) === true
  if (!addresses.every(isAllowed)) {
    throw new OutboundError(
      'refused_address',
      'The host name resolves to an address that is not public',
    )
  }
  return first
}

function requestOptions(
  url: URL,
  address: string,
  request: OutboundRequest,
  testNetwork: TestNetwork | undefined,
): RequestOptions {
  const pinned = { address, family: isIPv6(address) ? 6 : 4 }
  return {
    hostname: url.hostname,
    servername: url.hostname,
    port: testNetwork?.port ?? 443,
    path: `${url.pathname}${url.search}`,
    method: request.method,
    headers: {
      ...request.headers,
      Host: url.hostname,
      'Accept-Encoding': 'identity',
      'Content-Length': String(Buffer.byteLength(request.body)),
      Connection: 'close',
    },
    // A reused connection could be to an address that was checked for another name.
    agent: false,
    lookup: (_host, { all }, answer) => {
      if (all === true) answer(null, [pinned])
      else answer(null, pinned.address, pinned.family)
    },
    ...(testNetwork === undefined ? {} : { ca: testNetwork.ca }),
  }
}

function exchange(
  options: RequestOptions,
  pinned: {
    readonly address: string
    readonly body: string
    readonly limits: OutboundLimits
  },
): Promise<OutboundAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = httpsRequest(options)
    outgoing.on('error', () => {
      // Aborts also reach this line; `withTimeout` reports their reason.
      reject(new OutboundError('unreachable', 'The connection failed'))
    })
    outgoing.once('socket', (socket) => {
      // Node skips `lookup` for numeric hosts; this check covers every connection.
      socket.once('connect', () => {
        if (samePeer(socket.remoteAddress, pinned.address)) return
        reject(new OutboundError('refused_address', 'The connection reached a different address'))
        outgoing.destroy()
      })
    })
    outgoing.once('response', (incoming) => {
      readAnswer(incoming, pinned.limits.maxAnswerBytes).then(resolve, reject)
    })
    outgoing.end(pinned.body)
  })
}

/** Leaving the loop early also closes the connection. */
async function readAnswer(incoming: IncomingMessage, maxBytes: number): Promise<OutboundAnswer> {
  const received: AsyncIterable<Buffer> = incoming
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of received) {
      bytes += chunk.length
      chunks.push(chunk)
      if (bytes > maxBytes) break
    }
  } catch {
    throw new OutboundError('unreachable', 'The response ended early')
  }
  if (bytes > maxBytes) {
    throw new OutboundError('too_large', `The response exceeds ${maxBytes} bytes`)
  }
  const { statusCode = 0, headers } = incoming
  const coding = headers['content-encoding'] ?? 'identity'
  return {
    status: statusCode,
    contentType: headers['content-type'] ?? null,
    body: coding === 'identity' ? Buffer.concat(chunks) : null,
  }
}

/** Node reports IPv4 peers of a dual-stack socket as IPv4-mapped IPv6. */
export function samePeer(peer: string | undefined, address: string): boolean {
  return peer === address || peer === `::ffff:${address}`
}
