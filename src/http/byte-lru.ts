/** What took long to make, kept by what it was made of: so many bytes at most, what was asked for last stays. */

type Bytes = Uint8Array<ArrayBuffer>

/**
 * `make` behind a memory of at most `maxBytes`. Whoever asks for what is being made waits for the same. What failed
 * is made again. The source is compared as text, never hashed: equal text, equal bytes.
 */
export function createByteLru(
  make: (source: string) => Promise<Bytes>,
  maxBytes: number,
): (source: string) => Promise<Bytes> {
  const kept = new Map<string, Bytes>()
  const making = new Map<string, Promise<Bytes>>()
  let total = 0

  const keep = (source: string, bytes: Bytes): void => {
    kept.set(source, bytes)
    total += bytes.byteLength
    // In order of last use: the first one is what nobody has asked for the longest.
    for (const [oldest, { byteLength }] of kept) {
      if (total <= maxBytes) return
      kept.delete(oldest)
      total -= byteLength
    }
  }
  const makeOnce = async (source: string): Promise<Bytes> => {
    try {
      const bytes = await make(source)
      keep(source, bytes)
      return bytes
    } finally {
      making.delete(source)
    }
  }
  return async (source) => {
    const known = kept.get(source)
    if (known !== undefined) {
      kept.delete(source)
      kept.set(source, known)
      return known
    }
    const begun = making.get(source) ?? makeOnce(source)
    making.set(source, begun)
    return await begun
  }
}
