/** Sends raw bytes over a new connection, and parses the answers. */
import { once } from 'node:events'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

import { open, parseAnswer, received } from '../../support/raw-http.ts'
import type { Address, RawAnswer } from '../../support/raw-http.ts'

/** Longer than any time limit of the service. */
const SILENCE_MS = 30_000

/**
 * Sends bytes and returns all bytes received until the server closes, or `quiet` after 30 s of silence. The server may reset
 * the connection after an answer, because it does not read the body of a refused request.
 */
export async function sendBytes(address: Address, bytes: Buffer): Promise<Buffer | 'quiet'> {
  const socket = await open(address)
  const all = received(socket)
  const silence = once(socket, 'timeout').then(() => 'quiet' as const)
  socket.setTimeout(SILENCE_MS)
  socket.on('error', () => undefined)
  socket.write(bytes)
  const result = await Promise.race([all, silence])
  socket.destroy()
  return result
}

/** The first final answer in the bytes, with its chunks joined; null if there is none. */
export function answerOf(bytes: Buffer): RawAnswer | null {
  if (bytes.indexOf('\r\n\r\n') === -1) return null
  const answer = parseAnswer(bytes)
  if (answer.status < 200) return answerOf(answer.body)
  if (answer.headers.get('transfer-encoding') !== 'chunked') return answer
  return { ...answer, body: unchunked(answer.body) }
}

/** The decoded text of an answer; empty for HEAD. */
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

/** All answers in the bytes, by their Content-Length; none of them may be an answer to HEAD. */
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
