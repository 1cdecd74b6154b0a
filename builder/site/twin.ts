/**
 * Every piece of a page in its two forms, HTML and Markdown, made by one call: the page and its `.md` twin cannot say
 * different things, and text from outside is escaped for both where it enters.
 */
import { html } from './html.ts'
import type { Html } from './html.ts'

export interface Twin {
  readonly html: Html
  readonly md: string
}

/** What a sentence is made of. Strings are text, never markup; null is nothing. */
export type Said = string | number | Twin | null | readonly Said[]

export const nothing: Twin = { html: html``, md: '' }

/** A sentence: its fixed words are the author's, its values are text or twins. */
export function say(strings: TemplateStringsArray, ...values: readonly Said[]): Twin {
  const parts = strings.flatMap((fixed, index) => {
    const value = values[index]
    const words = { html: html`${fixed}`, md: fixed }
    return value === undefined ? [words] : [words, twinOf(value)]
  })
  return concat(parts)
}

/** Anything that can be said, as a twin. */
export function twinOf(said: Said): Twin {
  if (said === null) return nothing
  if (typeof said === 'number') return { html: html`${said}`, md: String(said) }
  if (typeof said === 'string') return { html: html`${said}`, md: markdownText(said) }
  return 'md' in said ? said : concat(said.map(twinOf))
}

/** One after the other, nothing in between. */
export function concat(parts: readonly Twin[]): Twin {
  return { html: html`${parts.map((part) => part.html)}`, md: parts.map(({ md }) => md).join('') }
}

/** With a separator of fixed words between them. */
export function join(parts: readonly Said[], separator: string): Twin {
  const between = { html: html`${separator}`, md: separator }
  return concat(parts.flatMap((part, index) => (index === 0 ? [] : [between]).concat(twinOf(part))))
}

/** Text in which no character is Markdown; line ends and controls become spaces. */
export function markdownText(text: string): string {
  return text
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .replace(/[\\`*_[\]<>|~&]/g, (character) => `\\${character}`)
}

/** A text from outside: its direction marks end with it. */
export function foreign(text: string): Twin {
  return { html: html`<bdi>${text}</bdi>`, md: markdownText(text) }
}

export function strong(said: Said): Twin {
  const { html: inner, md } = twinOf(said)
  return { html: html`<strong>${inner}</strong>`, md: `**${md}**` }
}

export function small(said: Said): Twin {
  const { html: inner, md } = twinOf(said)
  return { html: html`<small>${inner}</small>`, md }
}

/** Code as it is. Fences of any length inside are outdone by a longer one. */
export function code(text: string): Twin {
  const flat = text.replace(/[\s\p{Cc}]+/gu, ' ')
  const ticks = '`'.repeat(longestRun(flat) + 1)
  const pad = flat.startsWith('`') || flat.endsWith('`') ? ' ' : ''
  return { html: html`<code>${text}</code>`, md: `${ticks}${pad}${flat}${pad}${ticks}` }
}

export function longestRun(text: string): number {
  return Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
}

/** Web addresses and paths of this site. Anything else, such as `javascript:`, is shown and not linked. */
const safeAddress = /^(?:https?:\/\/[^\s"'<>\\]+|\/(?!\/)[^\s"'<>\\]*|#[\w-]+)$/i

/** A link. Addresses that come from outside may be anything: only web addresses become links. */
export function link(href: string, label: Said): Twin {
  const { html: inner, md } = twinOf(label)
  if (!safeAddress.test(href)) return { html: inner, md }
  const outside = !href.startsWith('/') && !href.startsWith('#')
  const target = href.replaceAll('(', '%28').replaceAll(')', '%29')
  return {
    html: outside
      ? html`<a href="${href}" rel="nofollow noopener noreferrer">${inner}</a>`
      : html`<a href="${href}">${inner}</a>`,
    md: `[${md}](${target})`,
  }
}

/** An address that is its own label. */
export function address(href: string): Twin {
  return link(href, foreign(href.replace(/^https?:\/\//, '').replace(/\/$/, '')))
}
