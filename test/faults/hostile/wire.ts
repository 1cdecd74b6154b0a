/** One request over a socket of its own, bytes as they are; the answer, or what came instead of one. */
import { connect } from 'node:net'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

import { parseAnswer } from '../../support/raw-http.ts'
import type { Address, RawAnswer } from '../../support/raw-http.ts'

/** Longer than the service gives any request. */
const SILENCE_MS = 30_000

/**
 * Sends bytes and reads until the server closes. A connection that is reset after its answer has arrived has been
 * answered: the server closes on a body that it does not read. `quiet` where nothing came for half a minute.
 */
export function sendBytes(address: Address, bytes: Buffer): Promise<Buffer | 'quiet'> {
  return new Promise((resolve) => {
    const socket = connect(address.port, address.host)
    const chunks: Buffer[] = []
    const end = (result: Buffer | 'quiet') => {
      socket.destroy()
      resolve(result)
    }
    socket.setTimeout(SILENCE_MS, () => end('quiet'))
    socket.on('data', (chunk: Buffer) => chunks.push(chunk))
    socket.on('error', () => undefined)
    socket.on('close', () => end(Buffer.concat(chunks)))
    socket.write(bytes)
  })
}

/**
 * The one answer in the bytes, after those that only ask for more, its body as it was before it was cut into chunks;
 * null where there is none.
 */
export function answerOf(bytes: Buffer): RawAnswer | null {
  if (bytes.indexOf('\r\n\r\n') === -1) return null
  const answer = parseAnswer(bytes)
  if (answer.status < 200) return answerOf(answer.body)
  if (answer.headers.get('transfer-encoding') !== 'chunked') return answer
  return { ...answer, body: unchunked(answer.body) }
}

/** The text of an answer, whatever coding it came in; that to HEAD has none. */
export function readable({ headers, body }: RawAnswer): string {
  if (body.length === 0) return ''
  const coding = headers.get('content-encoding')
  if (coding === 'br') return brotliDecompressSync(body).toString('utf8')
  return (coding === 'gzip' ? gunzipSync(body) : body).toString('utf8')
}

function unchunked(bytes: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length;) {
    const lineEnd = bytes.indexOf('\r\n', at)
    const size = Number.parseInt(bytes.subarray(at, lineEnd).toString('latin1'), 16)
    if (!(size > 0)) break
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
  }
  return Buffer.concat(parts)
}

/** Every answer in the bytes, each as long as it says; one to HEAD may not be among them. */
export function answersOf(bytes: Buffer): readonly RawAnswer[] {
  const answers: RawAnswer[] = []
  for (let rest = bytes; rest.indexOf('\r\n\r\n') !== -1;) {
    const answer = parseAnswer(rest)
    const length = Number(answer.headers.get('content-length') ?? 0)
    answers.push({ ...answer, body: answer.body.subarray(0, length) })
    rest = answer.body.subarray(length)
  }
  return answers
}
