/** Reads the text form by its grammar, strictly: what does not fit is an error with its line. */

export interface ReadSample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface ReadMetrics {
  /** Kind by family. */
  readonly kinds: ReadonlyMap<string, string>
  readonly samples: readonly ReadSample[]
}

const name = String.raw`[a-zA-Z_:][a-zA-Z0-9_:]*`
const label = String.raw`[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"`
const number = String.raw`[+-]?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf)|NaN`
const helpLine = new RegExp(String.raw`^# HELP (${name}) (?:[^\\]|\\[\\n])+$`)
const typeLine = new RegExp(String.raw`^# TYPE (${name}) (counter|gauge|histogram)$`)
const sampleLine = new RegExp(String.raw`^(${name})(?:\{(${label}(?:,${label})*)\})? (${number})$`)

/** @throws Error for a line that is not by the grammar, a family told twice, a sample outside of its family. */
export function readExposition(text: string): ReadMetrics {
  if (!text.endsWith('\n')) throw new Error('the last line does not end')
  const kinds = new Map<string, string>()
  const helped = new Set<string>()
  const samples: ReadSample[] = []
  const seen = new Set<string>()
  let family = ''
  for (const line of text.slice(0, -1).split('\n')) {
    const help = helpLine.exec(line)?.[1]
    if (help !== undefined) {
      if (helped.has(help)) throw new Error(`told twice: ${line}`)
      helped.add(help)
      family = help
      continue
    }
    const [, typed, kind] = typeLine.exec(line) ?? []
    if (typed !== undefined && kind !== undefined) {
      if (typed !== family || kinds.has(typed)) throw new Error(`out of its place: ${line}`)
      kinds.set(typed, kind)
      continue
    }
    const [, sampled, labels = '', value] = sampleLine.exec(line) ?? []
    if (sampled === undefined || value === undefined) throw new Error(`not by the grammar: ${line}`)
    const isHistogram = kinds.get(family) === 'histogram'
    const belongs = isHistogram
      ? [`${family}_bucket`, `${family}_sum`, `${family}_count`].includes(sampled)
      : sampled === family
    const key = `${sampled}{${labels}}`
    if (!belongs || seen.has(key)) throw new Error(`outside of its family, or twice: ${line}`)
    seen.add(key)
    samples.push({
      name: sampled,
      labels: labelsOf(labels),
      value: Number(value.replace('Inf', 'Infinity')),
    })
  }
  return { kinds, samples }
}

function labelsOf(text: string): Readonly<Record<string, string>> {
  const pairs = [...text.matchAll(/([a-zA-Z0-9_]+)="((?:[^"\\]|\\.)*)"/g)]
  return Object.fromEntries(
    pairs.map(([, key = '', value = '']) => [
      key,
      value.replaceAll(/\\(.)/g, (_, mark: string) => (mark === 'n' ? '\n' : mark)),
    ]),
  )
}

/** The sum of a metric's samples whose labels hold what is given. */
export function total(
  { samples }: ReadMetrics,
  metric: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  return samples
    .filter(
      (sample) =>
        sample.name === metric &&
        Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    )
    .reduce((sum, { value }) => sum + value, 0)
}
