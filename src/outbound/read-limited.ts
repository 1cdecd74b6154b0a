export class OversizeError extends Error {
  override readonly name = 'OversizeError'

  constructor(maxBytes: number) {
    super(`the answer is larger than ${maxBytes} bytes`)
  }
}

/** Counts bytes after inflation, since fetch inflates bodies itself. @throws OversizeError */
export async function readLimited(response: Response, maxBytes: number): Promise<Uint8Array> {
  const announced = Number(response.headers.get('content-length') ?? 0)
  const stream = response.body
  if (stream === null) return new Uint8Array()
  const reader = stream.getReader()
  const chunks: Uint8Array[] = []
  let total = announced > maxBytes ? announced : 0
  while (total <= maxBytes) {
    const read: { readonly value?: unknown } = await reader.read()
    if (!(read.value instanceof Uint8Array)) return concatenate(chunks, total)
    total += read.value.byteLength
    chunks.push(read.value)
  }
  reader.cancel().catch(() => undefined)
  throw new OversizeError(maxBytes)
}

function concatenate(chunks: readonly Uint8Array[], total: number): Uint8Array {
  const bytes = new Uint8Array(total)
  let start = 0
  for (const chunk of chunks) {
    bytes.set(chunk, start)
    start += chunk.length
  }
  return bytes
}
