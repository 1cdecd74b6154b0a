import { counted, grouped, shortNumber } from '../core/number-text.ts'
import { dayMs, hourMs, isoTime } from '../core/time.ts'
import { noContent, renderInline } from './html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from './html-and-markdown.ts'
import { html } from './html.ts'

export const unknown: HtmlAndMarkdown = pencil('unknown')

/** A figure that is too old or was not read by this ledger. */
export function pencil(text: string): HtmlAndMarkdown {
  return { html: html`<span class="unknown">${text}</span>`, md: text }
}

/** On the page, a number and its unit stay on one line. */
function plain(text: string): HtmlAndMarkdown {
  return { html: html`${text.replace(/ (?=%|USDC)/, '\u00A0')}`, md: text }
}

/** Amounts below a cent have six decimals. */
export function amountText(amountUsdc: number): string {
  const belowCent = amountUsdc > 0 && amountUsdc < 0.01
  return grouped(amountUsdc.toFixed(belowCent ? 6 : 2))
}

function figure(textOf: (value: number) => string) {
  return (value: number | null) => (value === null ? unknown : plain(textOf(value)))
}

/** An amount without its unit, for columns whose header has the unit. */
export const amount = figure(amountText)
export const usdc = figure((amountUsdc) => `${amountText(amountUsdc)} USDC`)
export const count = figure((value) => grouped(String(value)))
export const percent = figure((share) => `${(share * 100).toFixed(1)} %`)

/** In whole percent. A small share is never shown as none, nor a large one as all. */
export function wholePercent(share: number): string {
  const rounded = Math.round(share * 100)
  if (share > 0 && rounded === 0) return 'under 1 %'
  return share < 1 && rounded === 100 ? 'over 99 %' : `${rounded} %`
}

/** For lists and headlines: at most three significant digits. */
export function shortAmount(amountUsdc: number): string {
  return Math.abs(amountUsdc) < 1 ? amountText(amountUsdc) : shortNumber(amountUsdc)
}

/** Names the member of the page's signed document, so that the script can compare the shown with the signed value. */
export function signed(member: string, shown: HtmlAndMarkdown): HtmlAndMarkdown {
  return { html: html`<span data-of="${member}">${shown.html}</span>`, md: shown.md }
}

export type TimeValue = number | string

/** `2026-11-21 05:30 UTC`; the script of the site adds the age. */
export function time(at: TimeValue | null): HtmlAndMarkdown {
  if (at === null) return unknown
  const iso = isoTime(timeMs(at))
  const text = `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`
  return { html: html`<time datetime="${iso}">${text}</time>`, md: text }
}

export function day(at: TimeValue | null): HtmlAndMarkdown {
  if (at === null) return unknown
  const date = isoTime(timeMs(at)).slice(0, 10)
  return { html: html`<time datetime="${date}">${date}</time>`, md: date }
}

export function timeMs(at: TimeValue): number {
  return typeof at === 'number' ? at : Date.parse(at)
}

/** The age is rounded, so that pages rarely change with it. */
export function ageText(ageMs: number): string {
  const ago = Math.max(ageMs, 0)
  return ago < 2 * dayMs
    ? counted(Math.round(ago / hourMs), 'hour')
    : counted(Math.round(ago / dayMs), 'day')
}

/** The word has the full meaning; shape and colour only repeat it. `said`: by the count of others. */
export function pill(word: string, ...looks: readonly ('big' | 'said')[]): HtmlAndMarkdown {
  return {
    html: html`<span class="${['pill', ...looks].join(' ')}" data-is="${word}"
      >${word.replaceAll('_', ' ')}</span
    >`,
    md: word,
  }
}

/** Shown instead of a status if too little is known about a rail. */
export const notJudgedWord = 'not judged'

export const notJudged = pill(notJudgedWord)

/** A second line in a cell. */
export function sub(content: Inline): HtmlAndMarkdown {
  const { html: inner, md } = renderInline(content)
  return { html: html`<span class="sub">${inner}</span>`, md: `(${md})` }
}

export function mark(text: string | null): HtmlAndMarkdown {
  return text === null
    ? noContent
    : { html: html` <span class="mark">${text}</span>`, md: ` (${text})` }
}

/** The hash is shortened on the page and complete in its title and in Markdown. */
export function hash(text: string): HtmlAndMarkdown {
  const short = text.length > 20 ? `${text.slice(0, 10)}…${text.slice(-6)}` : text
  return {
    html: html`<code title="${text}">${short}</code>`,
    md: `\`${text.replaceAll('`', '')}\``,
  }
}
