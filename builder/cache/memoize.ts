/** Caches the result of a pure function for its latest argument. */
export function memoizeLatest<Key, Made>(make: (key: Key) => Made): (key: Key) => Made {
  let last: { readonly key: Key; readonly made: Made } | null = null
  return (key) => {
    if (last === null || last.key !== key) {
      last = null
      last = { key, made: make(key) }
    }
    return last.made
  }
}

/** Caches the results of a pure function for as long as its arguments exist. */
export function memoizeEach<Key extends object, Made>(
  make: (key: Key) => Made,
): (key: Key) => Made {
  const known = new WeakMap<Key, Made>()
  return (key) => {
    const made = known.get(key) ?? make(key)
    known.set(key, made)
    return made
  }
}

/** Returns the earlier list if the items are the same, so that memoized results stay valid. */
export function sameItems<T>(earlier: readonly T[], later: readonly T[]): readonly T[] {
  const isEqual =
    earlier.length === later.length && later.every((item, index) => item === earlier[index])
  return isEqual ? earlier : later
}

export function pruneMissing(
  known: Map<string, unknown>,
  present: { readonly has: (name: string) => boolean },
): void {
  for (const name of known.keys()) if (!present.has(name)) known.delete(name)
}
