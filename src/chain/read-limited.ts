/** The body of an answer as text. @throws Error where it has more than `maxBytes`. */
export async function readLimited(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  if (response.body === null) return ''
  const body: AsyncIterable<Uint8Array> = response.body
  for await (const chunk of body) {
    bytes += chunk.byteLength
    if (bytes > maxBytes) throw new Error(`the answer has more than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
