/** Draws charts as SVG without scripts and style sheets. Every scale starts at zero. */
import { shortNumber } from '../../src/core/number-text.ts'
import { px } from '../../src/core/xml-text.ts'
import { clip, frame, label, paint } from './svg.ts'
import type { FrameOptions, Setting } from './svg.ts'

interface ChartPoint {
  readonly label: string
  /** Null is drawn as a gap. */
  readonly value: number | null
}

interface ChartOptions extends Omit<FrameOptions, 'height' | 'width'> {
  readonly points: readonly ChartPoint[]
  readonly width?: number
  readonly height?: number
}

/** A second series over the same points, drawn as a dashed line. */
interface Companion {
  readonly names: readonly [line: string, broken: string]
  readonly values: readonly (number | null)[]
}

interface Spot {
  readonly x: number
  readonly y: number
}

export function lineChart(options: ChartOptions & { readonly companion?: Companion }): string {
  const { points, setting, companion, width = 720, height = 300 } = options
  const others = (companion?.values ?? []).map((value) => ({ label: '', value }))
  const scale = zeroScale(knownValues([...points, ...others]))
  const tickTexts = scale.ticks.map(shortNumber)
  const names = points.map((point) => clip(point.label, 16))
  const nameWidth = textWidth(longest(names))
  const box = {
    left: Math.max(20 + textWidth(longest(tickTexts)), 8 + nameWidth / 2),
    right: width - Math.max(16, 8 + nameWidth / 2),
    top: 48,
    bottom: height - 32,
  }
  const y = (value: number) => box.bottom - scale.part(value) * (box.bottom - box.top)
  const x = (index: number) => spread(index, points.length, box.left, box.right)

  const grid = scale.ticks.map((tick, index) => {
    const at = y(tick)
    return (
      `<path d="M${px(box.left)} ${px(at)}H${px(box.right)}" fill="none" ${paint('grid', setting)}/>` +
      label(setting, { x: box.left - 8, y: at + 4 }, tickTexts[index] ?? '', 'end')
    )
  })
  const axis = fittingLabels(names, nameWidth, box.right - box.left).map(([index, name]) =>
    label(setting, { x: x(index), y: box.bottom + 20 }, name, 'middle'),
  )
  const drawing = runs(points, x, y)
    .map((spots) => runPath(spots, y(0), setting))
    .join('')
  const broken = runs(others, x, y)
    .map((spots) => runPath(spots, null, setting))
    .join('')
  const center = { x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 }
  const isEmpty = drawing === '' && broken === ''
  const nothing = isEmpty ? label(setting, center, 'unknown', 'middle') : ''
  return frame(
    { ...options, width, height },
    heading(options, width) +
      (companion === undefined ? '' : legend(companion.names, width, setting)) +
      grid.join('') +
      axis.join('') +
      drawing +
      broken +
      nothing,
  )
}

function legend(names: Companion['names'], width: number, setting: Setting): string {
  let right = width - 16
  const entries = [...names.entries()].toReversed().map(([index, name]) => {
    const text = label(setting, { x: right, y: 26 }, name, 'end')
    const end = right - name.length * 6.5 - 6
    const dash = index === 0 ? '' : ' stroke-dasharray="4 4"'
    right = end - 24 - 16
    return `<path d="M${px(end - 24)} 22H${px(end)}" fill="none" stroke-width="2"${dash} ${paint('line', setting)}/>${text}`
  })
  return entries.join('')
}

/** A small line chart without axes, scaled to its maximum. */
export function sparkline(options: FrameOptions, values: readonly (number | null)[]): string {
  const { setting, width, height } = options
  const points = values.map((value) => ({ label: '', value }))
  const scale = zeroScale(knownValues(points), 'tight')
  const y = (value: number) => height - 3 - scale.part(value) * (height - 6)
  const x = (index: number) => spread(index, points.length, 3, width - 3)
  const drawing = runs(points, x, y).map((spots) => runPath(spots, height - 3, setting))
  return frame(options, drawing.join(''))
}

function isKnown(value: number | null): value is number {
  return value !== null && Number.isFinite(value)
}

function knownValues(points: readonly ChartPoint[]): number[] {
  return points.map(({ value }) => value).filter(isKnown)
}

function runs(
  points: readonly ChartPoint[],
  x: (index: number) => number,
  y: (value: number) => number,
): Spot[][] {
  const found: Spot[][] = []
  let current: Spot[] = []
  for (const [index, { value }] of points.entries()) {
    if (!isKnown(value)) {
      current = []
      continue
    }
    if (current.length === 0) found.push(current)
    current.push({ x: x(index), y: y(value) })
  }
  return found
}

/** A line with its area down to `zeroY`, or a dashed line if `zeroY` is null. */
function runPath(spots: readonly Spot[], zeroY: number | null, setting: Setting): string {
  const [first, last] = [spots[0], spots.at(-1)]
  if (first === undefined || last === undefined) return ''
  const isDashed = zeroY === null
  if (spots.length === 1) {
    return `<circle cx="${px(first.x)}" cy="${px(first.y)}" r="${isDashed ? 2 : 3}" ${paint('mark', setting)}/>`
  }
  const line = spots
    .map(({ x, y }, index) => `${index === 0 ? 'M' : 'L'}${px(x)} ${px(y)}`)
    .join('')
  if (isDashed) {
    return `<path d="${line}" fill="none" stroke-width="1.5" stroke-dasharray="4 4" ${paint('line', setting)}/>`
  }
  return (
    `<path d="${line}L${px(last.x)} ${px(zeroY)}L${px(first.x)} ${px(zeroY)}Z" fill-opacity="0.7" ${paint('area', setting)}/>` +
    `<path d="${line}" fill="none" stroke-width="2" stroke-linejoin="round" stroke-linecap="round" ${paint('line', setting)}/>`
  )
}

function heading(options: ChartOptions, width: number): string {
  const fits = Math.max(Math.floor((width - 32) / 8), 1)
  return `<g font-size="14" font-weight="600">${label(options.setting, { x: 16, y: 26 }, clip(options.title, fits), 'start', 'text')}</g>`
}

/**
 * Ticks are at 1, 2 or 5 times a power of ten. With `tight`, the scale ends at the extreme values instead of ticks.
 * `part` is the position between the lowest and highest tick, 0 to 1.
 */
function zeroScale(values: readonly number[], end: 'ticks' | 'tight' = 'ticks') {
  const highest = values.reduce((a, b) => Math.max(a, b), 0)
  const lowest = values.reduce((a, b) => Math.min(a, b), 0)
  const range = highest - lowest || 1
  const step = highest === lowest ? 1 : niceStep(range / 4)
  const from = Math.floor(lowest / step)
  const to = Math.max(Math.ceil(highest / step), from + 1)
  const ticks = Array.from({ length: to - from + 1 }, (_, index) => (from + index) * step)
  const [low, span] = end === 'tight' ? [lowest, range] : [from * step, (to - from) * step]
  return { ticks, part: (value: number) => (value - low) / span }
}

function niceStep(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough))
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= rough * (1 - 1e-9)) ?? 10
  return factor * power
}

function spread(index: number, count: number, from: number, to: number): number {
  return count < 2 ? (from + to) / 2 : from + (index / (count - 1)) * (to - from)
}

/** Returns evenly spaced labels that fit, including the first. */
function fittingLabels(
  labels: readonly string[],
  labelWidth: number,
  available: number,
): [number, string][] {
  const every = Math.ceil(((labels.length - 1) * (labelWidth + 8)) / Math.max(available, 1))
  return [...labels.entries()].filter(([index]) => index % Math.max(every, 1) === 0)
}

function longest(texts: readonly string[]): string {
  return texts.reduce((a, b) => (a.length >= b.length ? a : b), '')
}

function textWidth(text: string): number {
  return text.length * 7
}
