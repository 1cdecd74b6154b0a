/** Draws charts within a page. The style sheet paints them; the hatching of gaps is a pattern of the layout. */
import { shortNumber } from '../../src/core/number-text.ts'
import { runFrom, thinned } from '../../src/core/readings.ts'
import type { KnownReading } from '../../src/core/readings.ts'
import { px, xmlText } from '../../src/core/xml-text.ts'
import { zeroScale } from './scale.ts'

type Run = readonly KnownReading[]

interface RangeChart {
  /** Days since the Unix epoch, both included. */
  readonly from: number
  readonly to: number
  readonly kept: readonly Run[]
  readonly raw: readonly Run[]
  /** Days between which nothing is known. */
  readonly gaps: readonly (readonly [from: number, to: number])[]
  /** Every n-th reading is drawn. */
  readonly every: number
  readonly label: string
}

const [width, height] = [1000, 250]
const maxNamedDots = 4

/** Paths are stretched to the width of the page; dots and hatching keep their shape, since they are placed in percent. */
export function rangeChart(chart: RangeChart): { readonly svg: string; readonly ticks: string[] } {
  const { from, to } = chart
  const within = (runs: readonly Run[]) =>
    runs.map((run) => thinned(runFrom(run, from), chart.every)).filter((run) => run.length > 0)
  const [kept, raw] = [within(chart.kept), within(chart.raw)]
  const { ticks, part } = zeroScale([...kept, ...raw].flat().map(({ value }) => value))
  const x = (day: number) => (to === from ? 0.5 : (day - from) / (to - from))
  const path = pathOf(x, part)
  const grid = ticks.map((tick) => {
    const y = percent(1 - part(tick))
    return `<line class="grid" x2="100%" y1="${y}" y2="${y}"/>`
  })
  const gaps = chart.gaps
    .map(([first, last]) => [clamped(x(first)), clamped(x(last))] as const)
    .filter(([first, last]) => last > first)
    .map(
      ([first, last]) =>
        `<rect class="gap" x="${percent(first)}" width="${percent(last - first)}" height="100%" fill="url(#gap)"/>`,
    )
  const lines = [
    ...kept.map(
      (run) => `<path class="area" d="${path(run)}V${height}H${at(x(run[0]?.day ?? 0))}Z"/>`,
    ),
    ...kept.map((run) => `<path class="kept" d="${path(run)}"/>`),
    ...raw.map((run) => `<path class="raw" d="${path(run)}"/>`),
  ]
  const alone = kept.filter((run) => run.length === 1).flat()
  const rawDots = raw
    .filter((run) => run.length === 1)
    .flat()
    .map(
      ({ day, value }) =>
        `<circle class="raw" cx="${percent(x(day))}" cy="${percent(1 - part(value))}" r="3"/>`,
    )
  const dots = alone.map(({ day, value }) => {
    const [cx, cy] = [percent(x(day)), percent(1 - part(value))]
    const anchor = x(day) > 0.8 ? 'end' : x(day) < 0.2 ? 'start' : 'middle'
    const dy = part(value) > 0.8 ? 18 : -8
    const name =
      alone.length > maxNamedDots
        ? ''
        : `<text x="${cx}" y="${cy}" dy="${dy}" text-anchor="${anchor}">${shortNumber(value)}</text>`
    return `<circle class="dot" cx="${cx}" cy="${cy}" r="4"/>${name}`
  })
  return {
    svg:
      `<svg role="img" aria-label="${xmlText(chart.label)}">${grid.join('')}${gaps.join('')}` +
      `<svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none">${lines.join('')}</svg>${[...rawDots, ...dots].join('')}</svg>`,
    ticks: ticks.map(shortNumber),
  }
}

/** A small chart without axes, scaled to its maximum. */
export function sparkline(
  runs: readonly Run[],
  [from, to]: readonly [number, number],
  label: string,
) {
  const [w, h] = [96, 24]
  const shown = runs.map((run) => runFrom(run, from)).filter((run) => run.length > 0)
  const values = shown.flat().map(({ value }) => value)
  const { part } = zeroScale(values, 'tight')
  const x = (day: number) => px(3 + ((day - from) / (to - from)) * (w - 6))
  const y = (value: number) => px(h - 3 - part(value) * (h - 6))
  const drawn = shown.map((run) => {
    const [first, last] = [run[0], run.at(-1)]
    if (first === undefined || last === undefined) return ''
    if (run.length === 1)
      return `<circle class="dot" cx="${x(first.day)}" cy="${y(first.value)}" r="3"/>`
    const line = run.map(({ day, value }) => `${x(day)} ${y(value)}`).join(' ')
    return (
      `<path class="area" d="M${line}V${h - 3}H${x(first.day)}Z"/>` +
      `<path class="kept" d="M${line}"/>`
    )
  })
  return `<svg width="${w}" height="${h}" role="img" aria-label="${xmlText(label)}">${drawn.join('')}</svg>`
}

/** Coordinates are whole and relative, which halves the bytes of a chart. */
function pathOf(x: (day: number) => number, part: (value: number) => number) {
  return (run: Run): string => {
    let [lastX, lastY] = [0, 0]
    const steps = run.map(({ day, value }) => {
      const [toX, toY] = [at(x(day)), Math.round((1 - part(value)) * height)]
      const step = `${toX - lastX} ${toY - lastY}`
      ;[lastX, lastY] = [toX, toY]
      return step
    })
    return `m${steps.join(' ')}`
  }
}

function at(part: number): number {
  return Math.round(part * width)
}

function clamped(part: number): number {
  return Math.min(Math.max(part, 0), 1)
}

function percent(part: number): string {
  return `${px(part * 100)}%`
}
