import { px, xmlText } from '../../src/core/xml-text.ts'
import { palette } from '../../src/pages/palette.ts'

/** At most `max` code points. */
export function clip(text: string, max: number): string {
  const characters = Array.from(text)
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join('')}…`
}

const inks = {
  surface: ['fill', palette.leaf],
  text: ['fill', palette.ink],
  muted: ['fill', palette.soft],
  grid: ['stroke', palette.rule],
  line: ['stroke', palette.money],
  area: ['fill', palette['money-wash']],
  mark: ['fill', palette.money],
} as const

export type InkName = keyof typeof inks

/** Paint attributes. Inline styles are never used, since the Content-Security-Policy forbids them. */
export function paint(name: InkName): string {
  const [property, [light]] = inks[name]
  return `class="${name}" ${property}="${light}"`
}

function schemeStyle(): string {
  const dark = Object.entries(inks).map(
    ([name, [property, ink]]) => `.${name}{${property}:${ink[1]}}`,
  )
  return `<style>@media (prefers-color-scheme:dark){${dark.join('')}}</style>`
}

export interface FrameOptions {
  readonly width: number
  readonly height: number
  readonly title: string
  readonly description: string
}

/** A file with both colour schemes. */
export function frame(options: FrameOptions, drawing: string): string {
  const { width, height } = options
  const title = xmlText(options.title)
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"` +
    ` role="img" aria-label="${title}" font-family="system-ui,sans-serif" font-size="12">` +
    `<title>${title}</title><desc>${xmlText(options.description)}</desc>${schemeStyle()}` +
    `<rect width="${width}" height="${height}" ${paint('surface')}/>${drawing}</svg>`
  )
}

export function label(
  at: { readonly x: number; readonly y: number },
  text: string,
  anchor: 'start' | 'middle' | 'end' = 'start',
  ink: InkName = 'muted',
): string {
  const anchored = anchor === 'start' ? '' : ` text-anchor="${anchor}"`
  return `<text x="${px(at.x)}" y="${px(at.y)}"${anchored} ${paint(ink)}>${xmlText(text)}</text>`
}
