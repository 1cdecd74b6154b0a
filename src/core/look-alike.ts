/** Names that readers would take for one another, and names that are made to be taken for others. */

/** Letters of Cyrillic, Greek and a few others that are drawn like one of Latin, in lower case (after NFKC). */
const drawnLike: Readonly<Record<string, string>> = {
  // Cyrillic
  а: 'a',
  в: 'b',
  с: 'c',
  ԁ: 'd',
  е: 'e',
  ё: 'e',
  һ: 'h',
  н: 'h',
  і: 'l',
  ї: 'l',
  ј: 'j',
  к: 'k',
  ӏ: 'l',
  м: 'm',
  о: 'o',
  р: 'p',
  ԛ: 'q',
  ѕ: 's',
  т: 't',
  ѵ: 'v',
  ԝ: 'w',
  х: 'x',
  у: 'y',
  ү: 'y',
  г: 'r',
  п: 'n',
  з: '3',
  ь: 'b',
  // Greek
  α: 'a',
  β: 'b',
  ε: 'e',
  η: 'n',
  ι: 'l',
  κ: 'k',
  μ: 'u',
  ν: 'v',
  ο: 'o',
  ρ: 'p',
  σ: 'o',
  τ: 't',
  υ: 'u',
  χ: 'x',
  γ: 'y',
  ω: 'w',
  ϲ: 'c',
  ϳ: 'j',
  // Armenian and Latin letters of other languages
  ո: 'n',
  ս: 'u',
  օ: 'o',
  հ: 'h',
  ց: 'g',
  զ: 'q',
  ı: 'l',
  ł: 'l',
  ø: 'o',
  đ: 'd',
  ħ: 'h',
  ŧ: 't',
  ɑ: 'a',
  ɡ: 'g',
  ʟ: 'l',
  // Digits and signs
  '0': 'o',
  '1': 'l',
  '|': 'l',
  '!': 'l',
  i: 'l',
  '5': 's',
  $: 's',
  '@': 'a',
}

/** Capitals whose small letters are drawn otherwise. */
const capitalsDrawnLike: Readonly<Record<string, string>> = {
  Ν: 'n',
  Η: 'h',
  Υ: 'y',
  Μ: 'm',
  Ζ: 'z',
}

/**
 * What a name looks like: two names with one skeleton are taken for one another. Case, spaces, punctuation and
 * marks over letters do not count. Null where nothing is left, as with a name of pictures alone.
 */
export function skeletonOf(name: string): string | null {
  const wide = Array.from(name.normalize('NFKC'), (letter) => capitalsDrawnLike[letter] ?? letter)
  const letters = wide.join('').toLowerCase().normalize('NFD').replaceAll(/\p{M}/gu, '')
  const drawn = Array.from(letters, (letter) => drawnLike[letter] ?? letter).join('')
  const bare = drawn.replaceAll(/[^\p{L}\p{N}]/gu, '')
  // Pairs that are read as one letter.
  const read = bare.replaceAll('rn', 'm').replaceAll('vv', 'w').replaceAll('cl', 'd')
  return read === '' ? null : read
}

const scripts = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u] as const

/** Whether one word mixes Latin, Cyrillic and Greek, which no language does. */
export function mixesScripts(name: string): boolean {
  const words = name.normalize('NFKC').split(/[^\p{L}\p{M}\p{N}]+/u)
  return words.some((word) => scripts.filter((script) => script.test(word)).length > 1)
}
