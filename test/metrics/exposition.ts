/** Parses the Prometheus text format strictly: a line that does not match the grammar is an error. */

export interface ReadSample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface ReadMetrics {
  readonly kinds: ReadonlyMap<string, string>
  readonly samples: readonly ReadSample[]
}

const name = String.raw`[a-zA-Z_:][a-zA-Z0-9_:]*`
const label = String.raw`[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"`
const number = String.raw`[+-]?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|Inf)|NaN`
const helpLine = new RegExp(String.raw`^# HELP (${name}) (?:[^\\]|\\[\\n])+$`)
const typeLine = new RegExp(String.raw`^# TYPE (${name}) (counter|gauge|histogram)$`)
const sampleLine = new RegExp(String.raw`^(${name})(?:\{(${label}(?:,${label})*)\})? (${number})$`)

/** @throws Error for a line that does not match the grammar, a repeated family or a sample outside its family. */
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
      if (helped.has(help)) throw new Error(`repeated help: ${line}`)
      helped.add(help)
      family = help
      continue
    }
    const [, typed, kind] = typeLine.exec(line) ?? []
    if (typed !== undefined && kind !== undefined) {
      if (typed !== family || kinds.has(typed))
        throw new Error(`type without its help, or repeated: ${line}`)
      kinds.set(typed, kind)
      continue
    }
    const [, sampled, labels = '', value] = sampleLine.exec(line) ?? []
    if (sampled === undefined || value === undefined)
      throw new Error(`does not match the grammar: ${line}`)
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
