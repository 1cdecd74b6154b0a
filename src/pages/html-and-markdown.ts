/** Creates pieces of a page in HTML and Markdown in one call, so that both forms agree. Text is escaped on entry. */
import { html } from './html.ts'
import type { Html } from './html.ts'

export interface HtmlAndMarkdown {
  readonly html: Html
  readonly md: string
}

/** Strings are text, never markup. Null renders nothing. */
export type Inline = string | number | HtmlAndMarkdown | null | readonly Inline[]

export const noContent: HtmlAndMarkdown = { html: html``, md: '' }

/** Literal parts are trusted Markdown and text; values are escaped unless already rendered. */
export function inline(
  strings: TemplateStringsArray,
  ...values: readonly Inline[]
): HtmlAndMarkdown {
  const parts = strings.flatMap((fixed, index) => {
    const value = values[index]
    const words = { html: html`${fixed}`, md: fixed }
    return value === undefined ? [words] : [words, renderInline(value)]
  })
  return concat(parts)
}

export function renderInline(content: Inline): HtmlAndMarkdown {
  if (content === null) return noContent
  if (typeof content === 'number') return { html: html`${content}`, md: String(content) }
  if (typeof content === 'string') return { html: html`${content}`, md: markdownText(content) }
  return 'md' in content ? content : concat(content.map(renderInline))
}

export function concat(parts: readonly HtmlAndMarkdown[]): HtmlAndMarkdown {
  return { html: html`${parts.map((part) => part.html)}`, md: parts.map(({ md }) => md).join('') }
}

export function join(parts: readonly Inline[], separator: string): HtmlAndMarkdown {
  const between = { html: html`${separator}`, md: separator }
  return concat(
    parts.flatMap((part, index) => (index === 0 ? [] : [between]).concat(renderInline(part))),
  )
}

/** Escapes Markdown; line breaks and control characters become spaces. */
export function markdownText(text: string): string {
  return text
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .replace(/[\\`*_[\]<>|~&!]/g, (character) => `\\${character}`)
}

/** The text is isolated in `bdi`, so that its direction marks do not affect the rest of the page. */
export function untrustedText(text: string): HtmlAndMarkdown {
  return { html: html`<bdi>${text}</bdi>`, md: markdownText(text) }
}

export function strong(content: Inline): HtmlAndMarkdown {
  const { html: inner, md } = renderInline(content)
  return { html: html`<strong>${inner}</strong>`, md: `**${md}**` }
}

export function small(content: Inline): HtmlAndMarkdown {
  const { html: inner, md } = renderInline(content)
  return { html: html`<small>${inner}</small>`, md }
}

/** Text between backticks becomes code; `show` renders the rest. A text with a backtick left over has no code. */
export function textWithCode(
  text: string,
  show: (text: string) => HtmlAndMarkdown = renderInline,
): HtmlAndMarkdown {
  const parts = text.split('`')
  if (parts.length % 2 === 0) return show(text)
  return concat(parts.map((part, at) => (at % 2 === 1 ? code(part) : show(part))))
}

/** The Markdown fence is longer than any run of backticks inside. */
export function code(text: string): HtmlAndMarkdown {
  const flat = text.replace(/[\s\p{Cc}]+/gu, ' ')
  const ticks = '`'.repeat(longestBacktickRun(flat) + 1)
  const pad = flat.startsWith('`') || flat.endsWith('`') ? ' ' : ''
  return { html: html`<code>${text}</code>`, md: `${ticks}${pad}${flat}${pad}${ticks}` }
}

export function longestBacktickRun(text: string): number {
  return Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
}

/** Web addresses, paths of this site and anchors, but not `javascript:`. */
const linkableAddress = /^(?:https?:\/\/[^\s"'<>\\]+|\/(?!\/)[^\s"'<>\\]*|#[\w-]+)$/i

/** Only the label if the address is not linkable. */
export function link(href: string, label: Inline, className = ''): HtmlAndMarkdown {
  const { html: inner, md } = renderInline(label)
  if (!linkableAddress.test(href)) return { html: inner, md }
  const isExternal = !href.startsWith('/') && !href.startsWith('#')
  const target = href.replaceAll('(', '%28').replaceAll(')', '%29')
  const look = className === '' ? null : html` class="${className}"`
  return {
    html: isExternal
      ? html`<a${look} href="${href}" rel="nofollow noopener noreferrer">${inner}</a>`
      : html`<a${look} href="${href}">${inner}</a>`,
    md: `[${md}](${target})`,
  }
}

export function address(href: string): HtmlAndMarkdown {
  return link(href, untrustedText(href.replace(/^https?:\/\//, '').replace(/\/$/, '')))
}
