const minSimilarity = 0.4
/** One group of three characters is often the same by chance. */
const minGroups = 2
const shown = 5

/** The names that share most groups of three characters with the text, most similar first; at most five. */
export function similar(names: readonly string[], text: string): readonly string[] {
  const wanted = trigrams(text)
  const shared = (name: string) => [...trigrams(name)].filter((part) => wanted.has(part)).length
  return names
    .map((name) => ({ name, groups: shared(name), similarity: shared(name) / wanted.size }))
    .filter(({ groups, similarity }) => similarity >= minSimilarity && groups >= minGroups)
    .toSorted((a, b) => b.similarity - a.similarity || a.name.length - b.name.length)
    .slice(0, shown)
    .map(({ name }) => name)
}

function trigrams(text: string): ReadonlySet<string> {
  const plain = text
    .slice(0, 80)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '')
  return new Set(Array.from(plain.slice(2), (_, at) => plain.slice(at, at + 3)))
}
