/** Figures, times and words of state as every page shows them. Unknown is a word, never a zero. */
import { counted, grouped } from '../../src/core/number-text.ts'
import { dayMs, hourMs, isoTime } from '../../src/core/time.ts'
import { noContent } from './html-and-markdown.ts'
import type { HtmlAndMarkdown } from './html-and-markdown.ts'
import { html } from './html.ts'

export const unknown: HtmlAndMarkdown = {
  html: html`<span class="unknown">unknown</span>`,
  md: 'unknown',
}

function plain(text: string): HtmlAndMarkdown {
  return { html: html`${text}`, md: text }
}

/** `1,204.50`; below a cent six decimals. */
export function amountText(amountUsdc: number): string {
  const belowCent = amountUsdc > 0 && amountUsdc < 0.01
  return grouped(amountUsdc.toFixed(belowCent ? 6 : 2))
}

/** An amount without its unit, for columns that name it. */
export function amount(amountUsdc: number | null): HtmlAndMarkdown {
  return amountUsdc === null ? unknown : plain(amountText(amountUsdc))
}

export function usdc(amountUsdc: number | null): HtmlAndMarkdown {
  return amountUsdc === null ? unknown : plain(`${amountText(amountUsdc)} USDC`)
}

export function count(value: number | null): HtmlAndMarkdown {
  return value === null ? unknown : plain(grouped(String(value)))
}

/** A share of 1 as a percentage with one decimal. */
export function percent(share: number | null): HtmlAndMarkdown {
  return share === null ? unknown : plain(`${(share * 100).toFixed(1)} %`)
}

/** `2026-11-21 05:30 UTC`. The script of the site may say how long ago that was. */
export function time(timeMs: number | null): HtmlAndMarkdown {
  if (timeMs === null) return unknown
  const iso = isoTime(timeMs)
  const text = `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`
  return { html: html`<time datetime="${iso}">${text}</time>`, md: text }
}

/** The day of a time. */
export function day(timeMs: number | null): HtmlAndMarkdown {
  if (timeMs === null) return unknown
  const date = isoTime(timeMs).slice(0, 10)
  return { html: html`<time datetime="${date}">${date}</time>`, md: date }
}

/** An age in whole hours below two days, in whole days from then on: coarse, so that pages seldom change with it. */
export function ageText(ageMs: number): string {
  const ago = Math.max(ageMs, 0)
  return ago < 2 * dayMs
    ? counted(Math.floor(ago / hourMs), 'hour')
    : counted(Math.floor(ago / dayMs), 'day')
}

/** A word of state in a pill: the word is the message, the colour only repeats it. */
export function pill(word: string): HtmlAndMarkdown {
  return {
    html: html`<span class="pill" data-is="${word}">${word.replaceAll('_', ' ')}</span>`,
    md: word,
  }
}

/** A mark that a figure needs care, in words. */
export function mark(text: string | null): HtmlAndMarkdown {
  return text === null
    ? noContent
    : { html: html` <span class="mark">${text}</span>`, md: ` (${text})` }
}

/** A wallet or hash, shortened for people and whole for programs and copying. */
export function hash(text: string): HtmlAndMarkdown {
  const short = text.length > 20 ? `${text.slice(0, 10)}…${text.slice(-6)}` : text
  return {
    html: html`<code title="${text}">${short}</code>`,
    md: `\`${text.replaceAll('`', '')}\``,
  }
}
