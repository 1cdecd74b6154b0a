import { px, xmlText } from '../../src/core/xml-text.ts'

/** At most `max` code points. */
export function clip(text: string, max: number): string {
  const characters = Array.from(text)
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join('')}…`
}

/** Pages may override these colours with the CSS variables `--chart-<name>`. */
const inks = {
  surface: { property: 'fill', light: '#ffffff', dark: '#12161c' },
  text: { property: 'fill', light: '#1f2328', dark: '#e6edf3' },
  muted: { property: 'fill', light: '#59636e', dark: '#9aa4af' },
  grid: { property: 'stroke', light: '#d8dee4', dark: '#2f363e' },
  line: { property: 'stroke', light: '#0b62c4', dark: '#6cb6ff' },
  area: { property: 'fill', light: '#dbe8f8', dark: '#1b2f45' },
  mark: { property: 'fill', light: '#0b62c4', dark: '#6cb6ff' },
} as const satisfies Record<string, { property: 'fill' | 'stroke'; light: string; dark: string }>

export type InkName = keyof typeof inks

/** `page`: inside an HTML page whose style sheet sets the colours. `standalone`: a file with both colour schemes. */
export type Setting = 'page' | 'standalone'

/** Paint attributes. Inline styles are never used, since the Content-Security-Policy forbids them. */
export function paint(name: InkName, setting: Setting): string {
  const { property, light } = inks[name]
  return setting === 'page'
    ? `${property}="var(--chart-${name},${light})"`
    : `class="${name}" ${property}="${light}"`
}

function schemeStyle(): string {
  const dark = Object.entries(inks).map(([name, ink]) => `.${name}{${ink.property}:${ink.dark}}`)
  return `<style>@media (prefers-color-scheme:dark){${dark.join('')}}</style>`
}

export interface FrameOptions {
  readonly width: number
  readonly height: number
  readonly title: string
  readonly description: string
  readonly setting: Setting
}

export function frame(options: FrameOptions, drawing: string): string {
  const { width, height, setting } = options
  const title = xmlText(options.title)
  const ground =
    setting === 'page'
      ? ''
      : `${schemeStyle()}<rect width="${width}" height="${height}" ${paint('surface', setting)}/>`
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"` +
    ` role="img" aria-label="${title}" font-family="system-ui,sans-serif" font-size="12">` +
    `<title>${title}</title><desc>${xmlText(options.description)}</desc>${ground}${drawing}</svg>`
  )
}

export function label(
  setting: Setting,
  at: { readonly x: number; readonly y: number },
  text: string,
  anchor: 'start' | 'middle' | 'end' = 'start',
  ink: InkName = 'muted',
): string {
  const anchored = anchor === 'start' ? '' : ` text-anchor="${anchor}"`
  return `<text x="${px(at.x)}" y="${px(at.y)}"${anchored} ${paint(ink, setting)}>${xmlText(text)}</text>`
}
