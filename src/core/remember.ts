/** Adds an entry as the newest one and drops the oldest beyond `most`. */
export function remember<Value>(
  recent: Map<string, Value>,
  key: string,
  value: Value,
  most: number,
): void {
  recent.delete(key)
  recent.set(key, value)
  const [oldest = key] = recent.keys()
  if (recent.size > most) recent.delete(oldest)
}

/** Computes the value of each key once. Forgets all values when there are `most`. */
export function memoized<Key, Value extends {} | null>(
  compute: (key: Key) => Value,
  most = Infinity,
): (key: Key) => Value {
  const known = new Map<Key, Value>()
  return (key) => {
    const found = known.get(key)
    if (found !== undefined) return found
    const value = compute(key)
    if (known.size >= most) known.clear()
    known.set(key, value)
    return value
  }
}
