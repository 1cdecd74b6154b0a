import { SourceError } from './http.ts'

/**
 * The bytes of a body, read as they come and counted after inflation: fetch turns 100 KB of gzip into 100 MB on its
 * own, so the limit is enforced here and the rest of the stream is dropped.
 */
export async function readLimited(response: Response, maxBytes: number): Promise<Uint8Array> {
  const announced = Number(response.headers.get('content-length') ?? 0)
  const stream = response.body
  if (stream === null) return new Uint8Array()
  const reader = stream.getReader()
  const chunks: Uint8Array[] = []
  let total = announced > maxBytes ? announced : 0
  while (total <= maxBytes) {
    const read: { readonly value?: unknown } = await reader.read()
    if (!(read.value instanceof Uint8Array)) return joined(chunks, total)
    total += read.value.byteLength
    chunks.push(read.value)
  }
  // Nobody waits for the rest: the caller aborts the request as a whole.
  reader.cancel().catch(() => undefined)
  throw new SourceError(`the answer is larger than ${maxBytes} bytes`)
}

function joined(chunks: readonly Uint8Array[], total: number): Uint8Array {
  const bytes = new Uint8Array(total)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.byteLength
  }
  return bytes
}
