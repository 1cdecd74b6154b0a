import { connect } from 'node:net'
import type { Socket } from 'node:net'

/** Requests over a plain socket, since HTTP clients repair malformed ones. */

export interface RawAnswer {
  readonly status: number
  /** Lower-case names; repeated headers joined with a comma. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

export interface Address {
  readonly host: string
  readonly port: number
}

/** Returns everything that the server sends until it closes. */
export function exchange(address: Address, bytes: string | Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const socket = connect(address.port, address.host)
    const chunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve(Buffer.concat(chunks)))
    socket.write(bytes)
  })
}

/** Sends one request with `Connection: close`; `lines` follow the request line. */
export async function send(
  address: Address,
  requestLine: string,
  lines: readonly string[] = [],
  body = '',
): Promise<RawAnswer> {
  const hasHost = lines.some((line) => line.toLowerCase().startsWith('host'))
  const all = [...(hasHost ? [] : ['Host: ledger.test']), ...lines, 'Connection: close']
  const text = `${requestLine} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n${body}`
  const answer = parseAnswer(await exchange(address, Buffer.from(text, 'latin1')))
  const isChunked = answer.headers.get('transfer-encoding') === 'chunked'
  return isChunked ? { ...answer, body: unchunked(answer.body).body } : answer
}

/** Joins the chunks of a body; `end` is the place after the last one. */
export function unchunked(bytes: Buffer): { readonly body: Buffer; readonly end: number } {
  const parts: Buffer[] = []
  for (let at = 0; ;) {
    const start = bytes.indexOf('\r\n', at) + 2
    const size = Number.parseInt(bytes.toString('latin1', at, start), 16)
    at = start + size + 2
    if (!(size > 0)) return { body: Buffer.concat(parts), end: at }
    parts.push(bytes.subarray(start, start + size))
  }
}

/** Parses the first response; its body is everything after the headers. */
export function parseAnswer(bytes: Buffer): RawAnswer {
  const end = bytes.indexOf('\r\n\r\n')
  if (end === -1) throw new Error(`no HTTP answer in ${bytes.length} bytes`)
  const [statusLine = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const headers = new Map<string, string>()
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    const value = line.slice(colon + 1).trim()
    const before = headers.get(name)
    headers.set(name, before === undefined ? value : `${before}, ${value}`)
  }
  return { status: Number(statusLine.split(' ')[1]), headers, body: bytes.subarray(end + 4) }
}

export function open(address: Address): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(address.port, address.host, () => resolve(socket))
    socket.once('error', reject)
  })
}

/** Resolves with all bytes when the other side closes or the bytes contain `until`. */
export function received(socket: Socket, until?: string): Promise<Buffer> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    const all = (): Buffer => Buffer.concat(chunks)
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      if (until !== undefined && all().includes(until)) resolve(all())
    })
    socket.on('close', () => resolve(all()))
  })
}
