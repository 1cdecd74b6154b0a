/** Sends raw bytes over a new connection, and parses the answers. */
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

import { open, parseAnswer, received, unchunked } from '../../support/raw-http.ts'
import type { Address, RawAnswer } from '../../support/raw-http.ts'

/**
 * Sends bytes and returns the answers received until the server closes. The server may reset the connection after an answer,
 * because it does not read the body of a refused request.
 */
export async function answersTo(address: Address, bytes: string | Buffer) {
  const socket = await open(address)
  socket.on('error', () => undefined)
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
  return answersOf(await received(socket))
}

/** All final answers in the bytes, with their chunks joined; an answer to HEAD must be the last. */
export function answersOf(bytes: Buffer): readonly RawAnswer[] {
  const answers: RawAnswer[] = []
  for (let rest = bytes; rest.includes('\r\n\r\n');) {
    const answer = parseAnswer(rest)
    const isChunked = answer.headers.get('transfer-encoding') === 'chunked'
    const length = Number(answer.headers.get('content-length') ?? 0)
    const { body, end } = isChunked
      ? unchunked(answer.body)
      : { body: answer.body.subarray(0, length), end: length }
    if (answer.status >= 200) answers.push({ ...answer, body })
    rest = answer.body.subarray(end)
  }
  return answers
}

/** The decoded text of an answer; empty for HEAD. */
export function readable({ headers, body }: RawAnswer): string {
  if (body.length === 0) return ''
  const coding = headers.get('content-encoding')
  if (coding === 'br') return brotliDecompressSync(body).toString('utf8')
  return (coding === 'gzip' ? gunzipSync(body) : body).toString('utf8')
}
