/** Letters (lower case, after NFKC) and signs that resemble a Latin letter or digit. */
const lookAlikes: Readonly<Record<string, string>> = {
  '3': 'з',
  a: 'аαɑ@',
  b: 'вьβ',
  c: 'сϲ',
  d: 'ԁđ',
  e: 'еёε',
  g: 'ցɡ',
  h: 'һнհħ',
  j: 'јϳ',
  k: 'кκ',
  l: 'іїӏιıłʟ1|!i',
  m: 'м',
  n: 'пηո',
  o: 'оοσօø0',
  p: 'рρ',
  q: 'ԛզ',
  r: 'г',
  s: 'ѕ5$',
  t: 'тτŧ',
  u: 'μυս',
  v: 'ѵν',
  w: 'ԝω',
  x: 'хχ',
  y: 'уүγ',
}
const drawnLike = new Map(
  Object.entries(lookAlikes).flatMap(([latin, others]) =>
    Array.from(others, (other): [string, string] => [other, latin]),
  ),
)

/** Capitals whose Latin look-alike differs from that of the lower-case letter. */
const capitals = new Map(Object.entries({ Ν: 'n', Η: 'h', Υ: 'y', Μ: 'm', Ζ: 'z' }))

/** Returns null for a name without a letter or digit. Ignores case, spaces, punctuation and combining marks. */
export function skeletonOf(name: string): string | null {
  const wide = Array.from(name.normalize('NFKC'), (letter) => capitals.get(letter) ?? letter)
  const letters = wide.join('').toLowerCase().normalize('NFD').replaceAll(/\p{M}/gu, '')
  const drawn = Array.from(letters, (letter) => drawnLike.get(letter) ?? letter).join('')
  const bare = drawn.replaceAll(/[^\p{L}\p{N}]/gu, '')
  const read = bare.replaceAll('rn', 'm').replaceAll('vv', 'w').replaceAll('cl', 'd')
  return read === '' ? null : read
}

const scripts = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u] as const

/** Returns true if one word mixes Latin, Cyrillic and Greek, which no language does. */
export function mixesScripts(name: string): boolean {
  const words = name.normalize('NFKC').split(/[^\p{L}\p{M}\p{N}]+/u)
  return words.some((word) => scripts.filter((script) => script.test(word)).length > 1)
}
