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
    if (!(read.value instanceof Uint8Array)) return Buffer.concat(chunks, total)
    total += read.value.byteLength
    chunks.push(read.value)
  }
  reader.cancel().catch(() => undefined)
  throw new OversizeError(maxBytes)
}
