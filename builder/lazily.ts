/** What is made when it is first asked for, once: two documents are made of the same values, and often neither is made. */
export function lazily<T extends object>(make: () => T): () => T {
  let made: T | null = null
  return () => (made ??= make())
}
