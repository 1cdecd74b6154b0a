/** Metric values of this process. Nothing here blocks or throws. */
import { entriesOf } from '../core/entries.ts'
import { catalogue, metricSpecs } from './catalogue.ts'
import type { LabelsOf, MetricName, NameOf } from './catalogue.ts'

/** A value that the caller stores, so that counting is one addition. */
export interface MetricCell {
  value: number
}

/** Counts per bucket, and the sum of all observations. The last bucket has no upper bound. */
export interface HistogramCell {
  readonly bounds: readonly number[]
  readonly counts: number[]
  sum: number
}

export interface Meter {
  readonly counter: <Name extends NameOf<'counter'>>(
    name: Name,
    labels: LabelsOf<Name>,
  ) => MetricCell
  readonly gauge: <Name extends NameOf<'gauge'>>(name: Name, labels: LabelsOf<Name>) => MetricCell
  readonly histogram: <Name extends NameOf<'histogram'>>(
    name: Name,
    labels: LabelsOf<Name>,
  ) => HistogramCell
  /** Sets counters and gauges without labels; null leaves the previous value. */
  readonly set: (values: Readonly<Partial<Record<UnlabelledName, number | null>>>) => void
  /** Drops the samples of a metric that is about to be read again. */
  readonly clear: (name: MetricName) => void
  /**
   * The Prometheus text format, version 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/). Omits
   * metrics without samples, since unknown is not zero.
   */
  readonly render: () => string
}

type UnlabelledName = {
  [Name in NameOf<'counter' | 'gauge'>]: LabelsOf<Name> extends Record<string, never> ? Name : never
}[NameOf<'counter' | 'gauge'>]

interface Series {
  /** In the text format. */
  readonly labels: string
  readonly cell: MetricCell | HistogramCell
}

export const expositionType = 'text/plain; version=0.0.4; charset=utf-8'

export function createMeter(): Meter {
  const metrics = new Map<string, Map<string, Series>>()

  const cellOf = <Kept extends MetricCell | HistogramCell>(
    name: MetricName,
    labels: Readonly<Record<string, string>>,
    make: () => Kept,
  ): Kept => {
    const known = metrics.get(name) ?? new Map<string, Series>()
    metrics.set(name, known)
    const names: readonly string[] = catalogue[name].labels
    const key = names.map((label) => labels[label] ?? '').join('\n')
    const found = known.get(key)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a name has one kind, and so one kind of cell
    if (found !== undefined) return found.cell as Kept
    const cell = make()
    const pairs = names.map((label) => `${label}="${escaped(labels[label] ?? '')}"`)
    known.set(key, { labels: pairs.join(','), cell })
    return cell
  }
  const single = (name: MetricName, labels: Readonly<Record<string, string>>): MetricCell =>
    cellOf(name, labels, () => ({ value: 0 }))

  return {
    counter: single,
    gauge: single,
    histogram: (name, labels) => {
      const bounds = catalogue[name].buckets
      return cellOf(name, labels, () => ({
        bounds,
        counts: Array.from({ length: bounds.length + 1 }, () => 0),
        sum: 0,
      }))
    },
    set: (values) => {
      for (const [name, value] of entriesOf(values)) {
        if (typeof value === 'number') single(name, {}).value = value
      }
    },
    clear: (name) => {
      metrics.delete(name)
    },
    render: () =>
      Object.entries(metricSpecs)
        .flatMap(([name, { kind, help }]) => {
          const samples = [...(metrics.get(name)?.values() ?? [])].flatMap((one) =>
            samplesOf(name, one),
          )
          if (samples.length === 0) return []
          return [`# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n`, ...samples]
        })
        .join(''),
  }
}

export function observe(cell: HistogramCell, value: number): void {
  const { bounds, counts } = cell
  let at = 0
  while (at < bounds.length && value > (bounds[at] ?? 0)) at += 1
  counts[at] = (counts[at] ?? 0) + 1
  cell.sum += value
}

function samplesOf(name: string, { labels, cell }: Series): string[] {
  if ('value' in cell) return [sample(name, labels, cell.value)]
  let total = 0
  const buckets = cell.counts.map((count, at) => {
    total += count
    const bound = `le="${cell.bounds[at] ?? '+Inf'}"`
    return sample(`${name}_bucket`, labels === '' ? bound : `${labels},${bound}`, total)
  })
  return [
    ...buckets,
    sample(`${name}_sum`, labels, cell.sum),
    sample(`${name}_count`, labels, total),
  ]
}

function sample(name: string, labels: string, value: number): string {
  const number = value === Infinity ? '+Inf' : String(value).replace('Infinity', 'Inf')
  return `${name}${labels === '' ? '' : `{${labels}}`} ${number}\n`
}

function escaped(text: string): string {
  return text.replace(/["\\\n]/g, (mark) => (mark === '\n' ? '\\n' : `\\${mark}`))
}
