/** A misbehaving server over HTTP or TLS. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { createServer as createTlsServer } from 'node:tls'
import { constants, gzipSync } from 'node:zlib'

import { testCertificate } from '../../support/certificate.ts'
import { listen } from '../../support/listen.ts'

export interface Liar {
  readonly port: number
  /** Certificate of the test's own authority; empty without TLS. */
  readonly ca: string
  readonly sent: () => number
  readonly connections: () => number
  readonly stop: () => Promise<void>
}

export interface Misbehaviour {
  readonly name: string
  /** The response to a request. `inside` is an address that must not be reached by a redirect. */
  readonly answer: (socket: Socket, inside: string) => Promise<void>
}

const megabyte = Buffer.alloc(2 ** 20, 'a')
const head = (...lines: readonly string[]): string =>
  ['HTTP/1.1 200 OK', 'Content-Type: application/json', ...lines, '', ''].join('\r\n')
const whole = (body: string, type = 'application/json', status = '200 OK'): string =>
  `HTTP/1.1 ${status}\r\nContent-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`

const says =
  (text: string) =>
  async (socket: Socket): Promise<void> => {
    await write(socket, text)
    socket.end()
  }

/** Respects backpressure, so that only bytes that were read are counted. */
async function write(socket: Socket, chunk: string | Buffer): Promise<void> {
  if (socket.destroyed || socket.write(chunk)) return
  const either = new AbortController()
  const { signal } = either
  await Promise.race([once(socket, 'drain', { signal }), once(socket, 'close', { signal })])
  either.abort()
}

/** Sends a few bytes for ever, so that a limit on silence alone would never end it. */
const drips =
  (beginning: string, piece: string) =>
  async (socket: Socket): Promise<void> => {
    await write(socket, beginning)
    while (!socket.destroyed) {
      await delay(dripMs)
      await write(socket, piece)
    }
  }
const dripMs = 100

/** A gigabyte of blanks in a megabyte: gzip members are decompressed one after the other. */
const part = gzipSync(Buffer.alloc(64 * 2 ** 20, ' '), { level: constants.Z_BEST_COMPRESSION })
const bomb = Buffer.concat(Array.from({ length: 16 }, () => part))

export const misbehaviours: readonly Misbehaviour[] = [
  { name: 'hangs up', answer: async (socket) => void socket.destroy() },
  { name: 'says nothing', answer: async () => undefined },
  {
    name: 'stalls within its answer',
    answer: async (socket) => await write(socket, `${head('Content-Length: 1000')}{"result":`),
  },
  {
    name: 'stalls within its headers',
    answer: async (socket) => await write(socket, 'HTTP/1.1 200 OK\r\nX-'),
  },
  { name: 'drips its headers', answer: drips('HTTP/1.1 200 OK\r\nX-', 'a') },
  { name: 'drips its answer', answer: drips(head('Content-Length: 1000'), ' ') },
  { name: 'drips chunks', answer: drips(head('Transfer-Encoding: chunked'), '1\r\n \r\n') },
  { name: 'cuts its answer off', answer: says(`${head('Content-Length: 1000')}{"result":`) },
  {
    name: 'cuts a chunk off',
    answer: says(`${head('Transfer-Encoding: chunked')}100\r\n{"result":`),
  },
  { name: 'answers in another protocol', answer: says('220 mail.example ESMTP\r\n') },
  { name: 'answers with a page', answer: says(whole('<!doctype html><p>Busy</p>', 'text/html')) },
  { name: 'answers with nothing', answer: says(whole('')) },
  { name: 'answers another type', answer: says(whole('[[[1]]]')) },
  {
    name: 'answers 200 with an error',
    answer: says(whole('{"error":{"code":-32000,"message":"no"}}')),
  },
  {
    name: 'answers 500',
    answer: says(whole('{}', 'application/json', '500 Internal Server Error')),
  },
  {
    name: 'redirects to an internal address',
    answer: async (socket, inside) => {
      await says(
        `HTTP/1.1 307 Temporary Redirect\r\nLocation: ${inside}/latest/meta-data\r\nContent-Length: 0\r\n\r\n`,
      )(socket)
    },
  },
  {
    name: 'answers a gigabyte in chunks',
    answer: async (socket) => {
      await write(socket, head('Transfer-Encoding: chunked'))
      for (let sent = 0; sent < 1024 && !socket.destroyed; sent += 1) {
        await write(socket, `${megabyte.length.toString(16)}\r\n`)
        await write(socket, megabyte)
        await write(socket, '\r\n')
      }
      socket.end('0\r\n\r\n')
    },
  },
  {
    name: 'answers a gigabyte in a megabyte of gzip',
    answer: async (socket) => {
      await write(socket, head('Content-Encoding: gzip', `Content-Length: ${bomb.length}`))
      await write(socket, bomb)
      socket.end()
    },
  },
]

export async function startLiar(
  { answer }: Misbehaviour,
  inside: string,
  tls: boolean,
): Promise<Liar> {
  const sockets = new Set<Socket>()
  let connections = 0
  let sent = 0
  const { key, cert } = tls ? testCertificate(['hooks.example.com']) : { key: '', cert: '' }
  const serve = (socket: Socket): void => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('close', () => {
      sent += socket.bytesWritten - socket.writableLength
    })
    socket.once('data', () => void answer(socket, inside))
  }
  const server = tls ? createTlsServer({ key, cert }, serve) : createServer(serve)
  server.on('tlsClientError', () => undefined)
  // Counts connections before their TLS handshake, which a busy machine may not finish in time.
  server.on('connection', () => {
    connections += 1
  })
  return {
    port: await listen(server),
    ca: cert,
    sent: () => sent,
    connections: () => connections,
    stop: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
