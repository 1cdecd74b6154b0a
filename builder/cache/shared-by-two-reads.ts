/**
 * What two documents are made of: made for the first that asks, kept for the second and forgotten, so that of thousands
 * of pages nothing stays.
 */
export function sharedByTwoReads<T extends object>(make: () => T): () => T {
  let kept: T | null = null
  return () => {
    const made = kept ?? make()
    kept = kept === null ? made : null
    return made
  }
}
