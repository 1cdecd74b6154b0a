/** The preview image of a page (1200 by 630) as SVG of `rect`, `path` and `text` elements. */
import { px, xmlText } from '../core/xml-text.ts'
import { palette } from './palette.ts'
import { graphemes, textWidth, wrap } from './text-lines.ts'

export interface Card {
  readonly kicker: string
  readonly title: string
  readonly mark?: { readonly word: string; readonly tone: Tone }
  readonly figures: readonly (readonly [label: string, value: string])[]
  readonly drawing: Drawing | null
  readonly note: string
}

export type Tone = 'good' | 'care' | 'bad' | 'plain'

type Drawing =
  | {
      readonly kind: 'line'
      readonly caption: string
      /** Each run is one unbroken line. */
      readonly runs: readonly (readonly Spot[])[]
    }
  | { readonly kind: 'bars'; readonly caption: string; readonly bars: readonly Bar[] }
  | { readonly kind: 'text'; readonly text: string }

interface Spot {
  /** Position on the line of time, 0 to 1. */
  readonly part: number
  readonly value: number
}

export interface Bar {
  readonly name: string
  readonly value: number
  readonly text: string
}

export const cardWidth = 1200
export const cardHeight = 630
const maxName = 80
/** As long as the longest status with a date. */
const maxWord = 26

const left = 64
const right = cardWidth - left
const [paper] = palette.paper
const [leaf] = palette.leaf
const [ink] = palette.ink
const [soft] = palette.soft
const [rule] = palette.rule
const [green] = palette.money
const [wash] = palette['money-wash']
const [margin] = palette.margin
export const tones: Readonly<Record<Tone, string>> = {
  good: green,
  care: palette.care[0],
  bad: palette.doubt[0],
  plain: soft,
}

export function ogCard(card: Card): string {
  const name = xmlText(graphemes(card.title, maxName).join(''))
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${cardWidth} ${cardHeight}" width="${cardWidth}" height="${cardHeight}"` +
    ` role="img" aria-label="${name}" font-family="'DejaVu Sans','Segoe UI',Roboto,'Noto Sans',sans-serif">` +
    `<title>${name}</title>` +
    rect({ x: 0, y: 0, width: cardWidth, height: cardHeight, fill: paper }) +
    head(card) +
    titleLines(card) +
    figureColumns(card) +
    drawing(card) +
    '</svg>'
  )
}

function head({ kicker, note, mark }: Card): string {
  return (
    rect({ x: left, y: 48, width: 26, height: 26, fill: green }) +
    rect({ x: left + 4, y: 52, width: 18, height: 13, fill: wash }) +
    text({ x: left + 40, y: 71, size: 28, bold: true, serif: true }, 'Agent Income Ledger') +
    text({ x: right, y: 71, size: 22, fill: soft, anchor: 'end' }, clip(note, 40)) +
    line(98, margin) +
    line(103, margin) +
    text({ x: left, y: 156, size: 24, fill: soft }, clip(kicker, 54)) +
    (mark === undefined ? '' : pill(mark))
  )
}

function pill({ word, tone }: NonNullable<Card['mark']>): string {
  const label = clip(word, maxWord)
  const fill = tones[tone]
  const width = textWidth(graphemes(label, maxName)) * 15 + 36
  return (
    `<path d="M${right - width} 126h${width}v42h${-width}Z" fill="${leaf}" stroke="${fill}" stroke-width="3"/>` +
    text({ x: right - width / 2, y: 155, size: 24, bold: true, fill, anchor: 'middle' }, label)
  )
}

function titleLines({ title }: Card): string {
  const columns = textWidth(graphemes(title, maxName + 1))
  const [size, width] = columns <= 29 ? [58, 29] : columns <= 68 ? [46, 36] : [40, maxName / 2]
  const lines = wrap(title, width, 2)
  const first = lines.length === 1 ? 250 : 222
  return lines
    .map((part, at) =>
      text({ x: left, y: first + at * (size + 8), size, bold: true, serif: true }, part),
    )
    .join('')
}

function figureColumns({ figures }: Card): string {
  const width = (right - left) / 4
  return figures
    .slice(0, 4)
    .map(([label, value], at) => {
      const x = left + at * width
      return (
        text({ x, y: 326, size: 20, fill: soft }, clip(label, 22)) +
        text({ x, y: 376, size: 40, bold: true }, clip(value, 11))
      )
    })
    .join('')
}

const top = 458
const bottom = 592

function drawing(card: Card): string {
  const { drawing: drawn } = card
  if (drawn === null) return ''
  if (drawn.kind === 'text') {
    const lines = wrap(drawn.text, 62, card.figures.length === 0 ? 6 : 3)
    const first = card.figures.length === 0 ? 348 : top + 20
    return lines
      .map((part, at) => text({ x: left, y: first + at * 42, size: 27, fill: soft }, part))
      .join('')
  }
  const caption = text({ x: left, y: 444, size: 20, fill: soft }, clip(drawn.caption, 84))
  const shape = drawn.kind === 'line' ? lineOf(drawn.runs) : barsOf(drawn.bars)
  return line(408, rule) + caption + shape
}

function lineOf(runs: readonly (readonly Spot[])[]): string {
  const highest = runs.flat().reduce((max, { value }) => Math.max(max, value), 0) || 1
  const x = (part: number) => left + part * (right - left)
  const y = (value: number) => bottom - (Math.max(value, 0) / highest) * (bottom - top - 6)
  const paths = runs.map((run) => {
    const [first, last] = [run[0], run.at(-1)]
    if (first === undefined || last === undefined) return ''
    if (run.length === 1) {
      const at = `${px(x(first.part) - 4)} ${px(y(first.value))}`
      return `<path d="M${at}h8" fill="none" stroke="${green}" stroke-width="8"/>`
    }
    const drawn = run.map(({ part, value }) => `${px(x(part))} ${px(y(value))}`).join('L')
    const [from, to] = [px(x(first.part)), px(x(last.part))]
    return (
      `<path d="M${drawn}L${to} ${bottom}L${from} ${bottom}Z" fill="${wash}"/>` +
      `<path d="M${drawn}" fill="none" stroke="${green}" stroke-width="4"/>`
    )
  })
  return `${paths.join('')}${line(bottom, rule)}`
}

function barsOf(bars: readonly Bar[]): string {
  const shown = bars.slice(0, 5)
  const highest = shown.reduce((max, { value }) => Math.max(max, value), 0) || 1
  const [from, room] = [400, 540]
  return shown
    .map(({ name, value, text: figures }, at) => {
      const y = top + at * 28
      const width = Math.max((Math.max(value, 0) / highest) * room, 2)
      return (
        text({ x: from - 16, y: y + 19, size: 19, anchor: 'end' }, clip(name, 26)) +
        rect({ x: from, y: y + 3, width, height: 20, fill: green }) +
        text({ x: from + width + 12, y: y + 19, size: 19, fill: soft }, clip(figures, 16))
      )
    })
    .join('')
}

interface TextOptions {
  readonly x: number
  readonly y: number
  readonly size: number
  readonly fill?: string
  readonly bold?: boolean
  readonly serif?: boolean
  readonly anchor?: 'middle' | 'end'
}

function text(
  { x, y, size, fill = ink, bold, serif, anchor }: TextOptions,
  content: string,
): string {
  const attributes =
    (bold === true ? ' font-weight="600"' : '') +
    (serif === true ? ` font-family="Georgia,'DejaVu Serif',serif"` : '') +
    (anchor === undefined ? '' : ` text-anchor="${anchor}"`)
  return `<text x="${px(x)}" y="${px(y)}" font-size="${size}" fill="${fill}"${attributes}>${xmlText(content)}</text>`
}

type Box = Readonly<Record<'x' | 'y' | 'width' | 'height', number>>

function rect({ x, y, width, height, fill }: Box & { readonly fill: string }): string {
  return `<rect x="${px(x)}" y="${px(y)}" width="${px(width)}" height="${px(height)}" fill="${fill}"/>`
}

function line(y: number, stroke: string): string {
  return `<path d="M${left} ${y}H${right}" fill="none" stroke="${stroke}" stroke-width="2"/>`
}

function clip(content: string, width: number): string {
  return wrap(content, width, 1)[0] ?? ''
}
