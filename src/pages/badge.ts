/** Badges of 20 pixels in height, and snippets that embed badges and cards in other pages. */
import type { Rail } from '../contract/schemas/rail.ts'
import { isCurrent } from '../core/rail-poll.ts'
import { xmlText } from '../core/xml-text.ts'
import { notJudgedWord } from './figures.ts'
import { markdownText } from './html-and-markdown.ts'
import { cardHeight, cardWidth, tones } from './og-card.ts'
import type { Tone } from './og-card.ts'
import { statusTones } from './page-cards.ts'
import { shareImage } from './page.ts'
import { graphemes, textWidth } from './text-lines.ts'

const height = 20
/** Wide enough for the widest of the common sans-serif fonts at 11 pixels; `textLength` then fits every other. */
const columnWidth = 7
const maxLabel = 30
const maxWord = 40

/** The word says all that the colour says. */
function badge(label: string, word: string, tone: Tone): string {
  const shown = [graphemes(label, maxLabel), graphemes(word, maxWord)] as const
  const [left, right] = [
    textWidth(shown[0]) * columnWidth + 12,
    textWidth(shown[1]) * columnWidth + 12,
  ]
  const title = xmlText(`${shown[0].join('')}: ${shown[1].join('')} (Agent Income Ledger)`)
  const text = (x: number, width: number, characters: readonly string[]) =>
    `<text x="${x + 6}" y="14" textLength="${width - 12}" lengthAdjust="spacingAndGlyphs">${xmlText(characters.join(''))}</text>`
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${left + right} ${height}" width="${left + right}" height="${height}"` +
    ` role="img" aria-label="${title}" font-family="'DejaVu Sans',Verdana,sans-serif" font-size="11" fill="#ffffff">` +
    `<title>${title}</title><rect width="${left}" height="${height}" fill="#15231b"/>` +
    `<rect x="${left}" width="${right}" height="${height}" fill="${tones[tone]}"/>` +
    `${text(0, left, shown[0])}${text(left, right, shown[1])}</svg>`
  )
}

/** The status with the day of its figures. */
export function railBadge(rail: Rail, nowMs: number): string {
  const { figures_source: figuresSource, figures_as_of: asOf, judged, status } = rail
  if (!judged) return badge(rail.display_name, notJudgedWord, 'plain')
  const wasRead = isCurrent({ figuresSource, figuresAsOfMs: Date.parse(asOf) }, nowMs)
  const tone = wasRead ? statusTones[status] : 'plain'
  return badge(rail.display_name, `${wasRead ? '' : 'was '}${status} · ${asOf.slice(0, 10)}`, tone)
}

/** Counts verified receipts; `day` is that of the newest, null without any. */
export function workerBadge(wallet: string, receipts: string, day: string | null): string {
  const label = `${wallet.slice(0, 8)}…${wallet.slice(-4)}`
  if (day === null) return badge(label, 'no verified receipts', 'plain')
  return badge(label, `${receipts} verified · ${day}`, 'good')
}

interface Snippets {
  readonly html: string
  readonly markdown: string
}

/** Texts for other pages, which link back. `card` is null for a page without a preview image. */
export function embedSnippets(
  page: { readonly path: string; readonly name: string; readonly hasCard: boolean },
  siteUrl: string,
): { readonly badge: Snippets; readonly card: Snippets | null } {
  const snippets = (image: string, size: string): Snippets => {
    const alt = `${page.name} in the Agent Income Ledger`
    const [href, src] = [`${siteUrl}${page.path}`, `${siteUrl}${image}`]
    return {
      html: `<a href="${xmlText(href)}"><img src="${xmlText(src)}" alt="${xmlText(alt)}" ${size}></a>`,
      markdown: `[![${markdownText(alt)}](${src})](${href})`,
    }
  }
  const cardSize = `width="${cardWidth / 2}" height="${cardHeight / 2}"`
  return {
    badge: snippets(`/badges${page.path}.svg`, `height="${height}"`),
    card: page.hasCard ? snippets(shareImage(page.path), cardSize) : null,
  }
}
