/** Metric values of this process. Nothing here blocks or throws. */
import { entriesOf } from '../core/entries.ts'
import { catalogue, metricSpecs } from './catalogue.ts'
import type { LabelsOf, MetricName, NameOf } from './catalogue.ts'
import type { Family, MetricSample } from './exposition.ts'

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
  readonly families: () => readonly Family[]
}

type UnlabelledName = {
  [Name in NameOf<'counter' | 'gauge'>]: LabelsOf<Name> extends Record<string, never> ? Name : never
}[NameOf<'counter' | 'gauge'>]

interface Series {
  readonly labels: MetricSample['labels']
  readonly cell: MetricCell | HistogramCell
}

export function createMeter(): Meter {
  const metrics = new Map<string, Map<string, Series>>()

  const seriesOf = <Kept extends MetricCell | HistogramCell>(
    name: MetricName,
    labels: Readonly<Record<string, string>>,
    make: () => Kept,
  ): Kept => {
    const known = metrics.get(name) ?? new Map<string, Series>()
    metrics.set(name, known)
    const pairs = catalogue[name].labels.map((label): readonly [string, string] => [
      label,
      labels[label] ?? '',
    ])
    const key = pairs.map(([, value]) => value).join('\n')
    const found = known.get(key)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a name has one kind, and so one kind of cell
    if (found !== undefined) return found.cell as Kept
    const cell = make()
    known.set(key, { labels: pairs, cell })
    return cell
  }
  const single = (name: MetricName, labels: Readonly<Record<string, string>>): MetricCell =>
    seriesOf(name, labels, () => ({ value: 0 }))

  return {
    counter: single,
    gauge: single,
    histogram: (name, labels) => {
      const bounds = catalogue[name].buckets
      return seriesOf(name, labels, () => ({
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
    families: () =>
      Object.entries(metricSpecs).map(([name, { kind, help }]) => ({
        name,
        kind,
        help,
        samples: [...(metrics.get(name)?.values() ?? [])].flatMap(samplesOf),
      })),
  }
}

export function observe(cell: HistogramCell, value: number): void {
  const { bounds, counts } = cell
  let at = 0
  while (at < bounds.length && value > (bounds[at] ?? 0)) at += 1
  counts[at] = (counts[at] ?? 0) + 1
  cell.sum += value
}

function samplesOf({ labels, cell }: Series): readonly MetricSample[] {
  if ('value' in cell) return [{ suffix: '', labels, value: cell.value }]
  let total = 0
  const buckets = cell.counts.map((count, at): MetricSample => {
    total += count
    const bound = cell.bounds[at]
    const le = bound === undefined ? '+Inf' : String(bound)
    return { suffix: '_bucket', labels: [...labels, ['le', le]], value: total }
  })
  return [
    ...buckets,
    { suffix: '_sum', labels, value: cell.sum },
    { suffix: '_count', labels, value: total },
  ]
}
