/** Prometheus text format, version 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/). */

export type MetricKind = 'counter' | 'gauge' | 'histogram'

export interface MetricSample {
  readonly suffix: '' | '_bucket' | '_sum' | '_count'
  readonly labels: readonly (readonly [name: string, value: string])[]
  readonly value: number
}

export interface Family {
  readonly name: string
  readonly kind: MetricKind
  readonly help: string
  readonly samples: readonly MetricSample[]
}

export const expositionType = 'text/plain; version=0.0.4; charset=utf-8'

/** Omits families without samples, since unknown is not zero. */
export function exposition(families: readonly Family[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .map(familyText)
    .join('')
}

function familyText({ name, kind, help, samples }: Family): string {
  const lines = samples.map(
    ({ suffix, labels, value }) => `${name}${suffix}${labelText(labels)} ${valueText(value)}\n`,
  )
  return `# HELP ${name} ${escaped(help)}\n# TYPE ${name} ${kind}\n${lines.join('')}`
}

function labelText(labels: MetricSample['labels']): string {
  if (labels.length === 0) return ''
  const pairs = labels.map(([name, value]) => `${name}="${escaped(value).replaceAll('"', '\\"')}"`)
  return `{${pairs.join(',')}}`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function valueText(value: number): string {
  if (Number.isFinite(value)) return String(value)
  if (Number.isNaN(value)) return 'NaN'
  return value > 0 ? '+Inf' : '-Inf'
}
