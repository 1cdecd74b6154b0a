/** Text and paint for hand-made SVG: names come from rails and articles, so nothing is trusted. */
import { xmlText } from '../../src/core/xml-text.ts'

/** At most `max` characters (by code point), an ellipsis in place of the rest. */
export function clip(text: string, max: number): string {
  const characters = Array.from(text)
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join('')}…`
}

/** A coordinate with at most two decimals: finer is below a pixel. */
export function px(value: number): string {
  return String(Math.round(value * 100) / 100)
}

interface Ink {
  readonly property: 'fill' | 'stroke'
  readonly light: string
  readonly dark: string
}

/** Colours of charts. A page may set `--chart-<name>`. */
const inks = {
  surface: { property: 'fill', light: '#ffffff', dark: '#12161c' },
  text: { property: 'fill', light: '#1f2328', dark: '#e6edf3' },
  muted: { property: 'fill', light: '#59636e', dark: '#9aa4af' },
  grid: { property: 'stroke', light: '#d8dee4', dark: '#2f363e' },
  line: { property: 'stroke', light: '#0b62c4', dark: '#6cb6ff' },
  area: { property: 'fill', light: '#dbe8f8', dark: '#1b2f45' },
  mark: { property: 'fill', light: '#0b62c4', dark: '#6cb6ff' },
} as const satisfies Record<string, Ink>

export type InkName = keyof typeof inks

/**
 * `page`: part of an HTML page, whose style sheet owns the colours. `standalone`: a file of its own that carries both
 * colour schemes and its background.
 */
export type Setting = 'page' | 'standalone'

/**
 * The attributes that paint with an ink. Stand-alone files hold plain colours, for readers without style sheets, and
 * a class for the dark scheme; inline styles are never used, so a strict Content-Security-Policy changes nothing.
 */
export function paint(name: InkName, setting: Setting): string {
  const { property, light } = inks[name]
  return setting === 'page'
    ? `${property}="var(--chart-${name},${light})"`
    : `class="${name}" ${property}="${light}"`
}

/** The style element of a stand-alone file: the dark scheme. */
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

/** The svg element around a drawing, named for readers that do not see it. */
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

/** A line of text at a point; `anchor` says which end stands there. */
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
