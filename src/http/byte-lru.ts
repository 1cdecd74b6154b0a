type Bytes = Uint8Array<ArrayBuffer>

/** Caches results up to `maxBytes`, evicting the least recently used. Concurrent calls share a result, but no error. */
export function createByteLru(
  make: (source: string) => Promise<Bytes>,
  maxBytes: number,
): (source: string) => Promise<Bytes> {
  const cached = new Map<string, Bytes>()
  const pending = new Map<string, Promise<Bytes>>()
  let total = 0

  const store = (source: string, bytes: Bytes): void => {
    cached.set(source, bytes)
    total += bytes.byteLength
    for (const [oldest, { byteLength }] of cached) {
      if (total <= maxBytes) return
      cached.delete(oldest)
      total -= byteLength
    }
  }
  const makeOnce = async (source: string): Promise<Bytes> => {
    try {
      const bytes = await make(source)
      store(source, bytes)
      return bytes
    } finally {
      pending.delete(source)
    }
  }
  return async (source) => {
    const known = cached.get(source)
    if (known !== undefined) {
      cached.delete(source)
      cached.set(source, known)
      return known
    }
    const result = pending.get(source) ?? makeOnce(source)
    pending.set(source, result)
    return await result
  }
}
