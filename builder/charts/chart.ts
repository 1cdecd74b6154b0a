/** Draws the line chart of an article as a file of its own. */
import { shortNumber } from '../../src/core/number-text.ts'
import { px } from '../../src/core/xml-text.ts'
import { zeroScale } from './scale.ts'
import { clip, frame, label, paint } from './svg.ts'
import type { FrameOptions } from './svg.ts'

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

interface Spot {
  readonly x: number
  readonly y: number
}

export function lineChart(options: ChartOptions): string {
  const { points, width = 720, height = 300 } = options
  const scale = zeroScale(points.map(({ value }) => value).filter(isKnown))
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
      `<path d="M${px(box.left)} ${px(at)}H${px(box.right)}" fill="none" ${paint('grid')}/>` +
      label({ x: box.left - 8, y: at + 4 }, tickTexts[index] ?? '', 'end')
    )
  })
  const axis = fittingLabels(names, nameWidth, box.right - box.left).map(([index, name]) =>
    label({ x: x(index), y: box.bottom + 20 }, name, 'middle'),
  )
  const drawing = runs(points, x, y)
    .map((spots) => runPath(spots, y(0)))
    .join('')
  const center = { x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2 }
  const nothing = drawing === '' ? label(center, 'unknown', 'middle') : ''
  return frame(
    { ...options, width, height },
    heading(options, width) + grid.join('') + axis.join('') + drawing + nothing,
  )
}

function isKnown(value: number | null): value is number {
  return value !== null && Number.isFinite(value)
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

/** A line with its area down to `zeroY`. */
function runPath(spots: readonly Spot[], zeroY: number): string {
  const [first, last] = [spots[0], spots.at(-1)]
  if (first === undefined || last === undefined) return ''
  if (spots.length === 1) {
    return `<circle cx="${px(first.x)}" cy="${px(first.y)}" r="3" ${paint('mark')}/>`
  }
  const line = spots
    .map(({ x, y }, index) => `${index === 0 ? 'M' : 'L'}${px(x)} ${px(y)}`)
    .join('')
  return (
    `<path d="${line}L${px(last.x)} ${px(zeroY)}L${px(first.x)} ${px(zeroY)}Z" ${paint('area')}/>` +
    `<path d="${line}" fill="none" stroke-width="2" stroke-linejoin="round" stroke-linecap="round" ${paint('line')}/>`
  )
}

function heading(options: ChartOptions, width: number): string {
  const fits = Math.max(Math.floor((width - 32) / 8), 1)
  return `<g font-size="14" font-weight="600">${label({ x: 16, y: 26 }, clip(options.title, fits), 'start', 'text')}</g>`
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
