/** Draws the line chart of an article as a file of its own, with both colour schemes. */
import { shortNumber } from '../../src/core/number-text.ts'
import { px, xmlText } from '../../src/core/xml-text.ts'
import { palette } from '../../src/pages/palette.ts'
import { zeroScale } from './scale.ts'

interface LineChart {
  readonly title: string
  readonly description: string
  /** At least two, with short labels. Null: not known yet. */
  readonly points: readonly { readonly label: string; readonly value: number | null }[]
}

const [width, height] = [720, 300]
const [top, bottom] = [48, height - 32]
const characterWidth = 7

const inks = {
  surface: ['fill', palette.leaf],
  text: ['fill', palette.ink],
  muted: ['fill', palette.soft],
  grid: ['stroke', palette.rule],
  line: ['stroke', palette.money],
  area: ['fill', palette['money-wash']],
} as const

export function lineChart({ title, description, points }: LineChart): string {
  const known = points.flatMap(({ value }, at) => (value === null ? [] : [[at, value] as const]))
  const scale = zeroScale(known.map(([, value]) => value))
  const ticks = scale.ticks.map((tick) => [tick, shortNumber(tick)] as const)
  const side = 8 + widest(points.map(({ label }) => label)) / 2
  const left = Math.max(20 + widest(ticks.map(([, text]) => text)), side)
  const right = width - Math.max(16, side)
  const x = (at: number) => px(left + (at / (points.length - 1)) * (right - left))
  const y = (value: number) => bottom - scale.part(value) * (bottom - top)
  const line = known.map(([at, value]) => `${x(at)} ${px(y(value))}`).join('L')
  const [from, to] = [known[0]?.[0] ?? 0, points.length - 1].map(x)
  const name = xmlText(title)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"`,
    ` role="img" aria-label="${name}" font-family="system-ui,sans-serif" font-size="12">`,
    `<title>${name}</title><desc>${xmlText(description)}</desc>${darkStyle()}`,
    `<rect width="${width}" height="${height}" ${paint('surface')}/>`,
    `<g font-size="14" font-weight="600"><text x="16" y="26" ${paint('text')}>${name}</text></g>`,
    ...ticks.map(
      ([tick, text]) =>
        `<path d="M${px(left)} ${px(y(tick))}H${px(right)}" fill="none" ${paint('grid')}/>` +
        label(px(left - 8), y(tick) + 4, 'end', text),
    ),
    ...points.map((point, at) => label(x(at), bottom + 20, 'middle', point.label)),
    `<path d="M${line}L${to} ${px(y(0))}L${from} ${px(y(0))}Z" ${paint('area')}/>`,
    `<path d="M${line}" fill="none" stroke-width="2" stroke-linejoin="round" stroke-linecap="round" ${paint('line')}/>`,
    '</svg>',
  ].join('')
}

/** Inline styles are never used, since the Content-Security-Policy forbids them. */
function paint(name: keyof typeof inks): string {
  const [property, [light]] = inks[name]
  return `class="${name}" ${property}="${light}"`
}

function darkStyle(): string {
  const dark = Object.entries(inks).map(
    ([name, [property, ink]]) => `.${name}{${property}:${ink[1]}}`,
  )
  return `<style>@media (prefers-color-scheme:dark){${dark.join('')}}</style>`
}

function label(x: string, y: number, anchor: 'middle' | 'end', text: string): string {
  return `<text x="${x}" y="${px(y)}" text-anchor="${anchor}" ${paint('muted')}>${xmlText(text)}</text>`
}

function widest(texts: readonly string[]): number {
  return Math.max(...texts.map(({ length }) => length)) * characterWidth
}
