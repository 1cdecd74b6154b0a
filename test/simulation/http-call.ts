/** HTTP requests over an in-memory connection to the server. */
import type { Server } from 'node:http'
import { Duplex } from 'node:stream'

export interface Call {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly raw: string
  readonly address: string
}

export interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  /** Status line and headers, as they came. */
  readonly head: string
}

/** `name` in lower case. */
export function headerOf({ head }: Pick<Answer, 'head'>, name: string): string | null {
  const line = head.split('\r\n').find((one) => one.toLowerCase().startsWith(`${name}: `))
  return line?.slice(name.length + 2) ?? null
}

export function send(server: Server, call: Call, answered: (answer: Answer) => void): void {
  const chunks: Buffer[] = []
  const socket = Object.assign(
    new Duplex({
      read: () => undefined,
      write: (chunk: Buffer, _encoding, done) => {
        chunks.push(chunk)
        done()
      },
      final: (done) => {
        done()
        answered(answerOf(Buffer.concat(chunks).toString('utf8')))
      },
    }),
    { remoteAddress: call.address },
  )
  socket.on('error', () => undefined)
  const headers = {
    Host: 'ledger.test',
    Connection: 'close',
    ...(call.raw === ''
      ? {}
      : {
          'Content-Type': 'application/json',
          'Content-Length': String(Buffer.byteLength(call.raw)),
        }),
    ...call.headers,
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  server.emit('connection', socket)
  socket.push(`${call.method} ${call.path} HTTP/1.1\r\n${lines.join('')}\r\n${call.raw}`)
}

function answerOf(text: string): Answer {
  const end = text.indexOf('\r\n\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1])
  const body: unknown = JSON.parse(text.slice(end + 4))
  if (Number.isNaN(status) || typeof body !== 'object' || body === null) {
    throw new Error(`this is no answer: ${text}`)
  }
  return { status, body: { ...body }, head: text.slice(0, end) }
}
