/** The names that a reader probably meant, nearest first: those that contain the word, or differ in two letters (short words in one). */
export function nearest(word: string, names: readonly string[]): readonly string[] {
  const wanted = plain(word)
  if (wanted.length < 3) return []
  return names
    .map((name) => ({ name, off: distance(wanted, plain(name)) }))
    .filter(({ off }) => off <= (wanted.length < 5 ? 1 : 2))
    .toSorted((a, b) => a.off - b.off || (a.name < b.name ? -1 : 1))
    .map(({ name }) => name)
}

function plain(text: string): string {
  return text
    .slice(0, 64)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
}

/** Levenshtein's distance; 1 at most for a word that the other contains. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const changed = (row[j - 1] ?? 0) + Number(a[i - 1] !== b[j - 1])
      next.push(Math.min(changed, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  const off = row.at(-1) ?? 0
  return b.includes(a) || a.includes(b) ? Math.min(off, 1) : off
}
