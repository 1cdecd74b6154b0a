/** Breaks untrusted text into lines, bounded in columns and in code points. */

// oxlint-disable-next-line no-control-regex -- control characters are removed
const unseen = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069\ufeff]/gu
const space = /[\s\u2028\u2029]+/gu

/** Longer grapheme clusters would draw their marks over the rest of the page. */
const MAX_CODE_POINTS = 8
const MAX_UNITS = 4000
const single = /^[\u0020-\u007e\u00a1-\u00ff\u2010-\u2027\u2030-\u205e]*$/

let segmenter: Intl.Segmenter | null = null

/** Collapses spaces and removes control characters (clusters as in UAX #29). */
export function graphemes(text: string, max: number): string[] {
  const clean = text.slice(0, MAX_UNITS).replace(space, ' ').replace(unseen, '').trim()
  if (single.test(clean)) return Array.from(clean.slice(0, max))
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  const found: string[] = []
  for (const { segment } of segmenter.segment(clean)) {
    if (found.length === max) break
    found.push(Array.from(segment).slice(0, MAX_CODE_POINTS).join(''))
  }
  return found
}

/** Returns two for East Asian characters and emoji, else one. */
function columns(grapheme: string): number {
  const point = grapheme.codePointAt(0) ?? 0
  return point >= 0x2e80 || (point >= 0x1100 && point < 0x1200) ? 2 : 1
}

export function textWidth(characters: readonly string[]): number {
  return characters.reduce((sum, character) => sum + columns(character), 0)
}

export function wrap(text: string, width: number, maxLines: number): string[] {
  let rest = graphemes(text, width * maxLines + 1)
  const lines: string[] = []
  while (rest.length > 0) {
    const fits = fitting(rest, width)
    const isCut = fits < rest.length
    if (isCut && lines.length === maxLines - 1) {
      const shown = rest.slice(0, fitting(rest, width - 1)).join('')
      return [...lines, `${shown.trimEnd()}…`]
    }
    const gap = isCut ? rest.lastIndexOf(' ', fits) : -1
    const end = gap > 0 ? gap : fits
    lines.push(rest.slice(0, end).join(''))
    rest = rest.slice(gap > 0 ? end + 1 : end)
  }
  return lines
}

/** Returns at least one, so that every line makes progress. */
function fitting(characters: readonly string[], width: number): number {
  let used = 0
  let fits = 0
  for (const character of characters) {
    used += columns(character)
    if (used > width) break
    fits += 1
  }
  return Math.max(fits, 1)
}
