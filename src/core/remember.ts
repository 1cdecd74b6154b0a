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
