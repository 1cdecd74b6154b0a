import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'

import { createPinnedFetch } from '../../src/outbound/pinned-fetch.ts'
import type { PinnedFetch, Resolve, TestNetwork } from '../../src/outbound/pinned-fetch.ts'
import { testCertificate } from './certificate.ts'
import { listen } from './listen.ts'

export interface ReceivedRequest {
  readonly method: string
  readonly host: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export type Reply = (request: ReceivedRequest, res: ServerResponse) => void

/** A local HTTPS server that represents public hosts. */
export interface Receiver {
  readonly requests: ReceivedRequest[]
  readonly connections: () => number
  /** Replaces the reply; the first one is 200, with the challenge if there is one. */
  readonly reply: (reply: Reply) => void
  readonly network: TestNetwork
  /** Connects to this server for every name. */
  readonly fetch: PinnedFetch
  readonly stop: () => Promise<void>
}

export const okReply: Reply = ({ body }, res) =>
  void res.writeHead(200).end(challengeIn(body) ?? '')

/** The proof that is requested from an endpoint. */
export function challengeIn(body: string): string | null {
  const found = /^\{"type":"endpoint\.challenge",.*"challenge":"(\w+)"/.exec(body)
  return found?.[1] ?? null
}
export const statusReply =
  (status: number): Reply =>
  (_request, res) =>
    void res.writeHead(status).end()

export async function startReceiver(
  hosts: readonly string[] = ['hooks.example.com'],
  resolve: Resolve = () => Promise.resolve(['127.0.0.1']),
): Promise<Receiver> {
  const { key, cert } = testCertificate(hosts)
  const requests: ReceivedRequest[] = []
  let connections = 0
  let reply = okReply
  const server = createServer({ key, cert }, (incoming, res) => {
    void take(incoming, res)
  })
  const take = async (incoming: IncomingMessage, res: ServerResponse): Promise<void> => {
    const body = await bodyOf(incoming)
    const { method = '', url: path = '', headers } = incoming
    const request = { method, path, headers, host: headers.host ?? '', body }
    requests.push(request)
    reply(request, res)
  }
  server.on('connection', () => {
    connections += 1
  })
  const port = await listen(server)
  const network = { allowAddresses: ['127.0.0.1'], port, ca: cert }
  return {
    requests,
    connections: () => connections,
    reply: (next) => {
      reply = next
    },
    network,
    fetch: createPinnedFetch({ resolve, testNetwork: network }),
    stop: () =>
      new Promise((stopped) => {
        server.close(() => stopped())
        server.closeAllConnections()
      }),
  }
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = []
  incoming.on('data', (chunk: Uint8Array) => chunks.push(chunk))
  await new Promise<void>((ended) => {
    incoming.once('close', ended)
    incoming.once('end', ended)
  })
  return Buffer.concat(chunks).toString('utf8')
}
