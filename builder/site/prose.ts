/** Markdown that people or the builder wrote, as HTML: no raw HTML, no scripts, no pictures of other hosts. */
import { Marked } from 'marked'
import type { Tokens } from 'marked'

import { html, trusted } from './html.ts'
import type { Html } from './html.ts'

/** What stands in links and pictures: web addresses, paths of this site, anchors. */
const linkable = /^(?:https?:\/\/|\/(?!\/)|#)/i

/**
 * Renders GitHub-flavoured Markdown. Raw HTML is shown as text. Addresses of this site become paths, so that a page
 * works wherever it is served; pictures from elsewhere become links.
 */
export function renderMarkdown(text: string, siteUrl: string): Html {
  const local = (href: string) =>
    href.startsWith(`${siteUrl}/`) ? href.slice(siteUrl.length) : href
  const marked = new Marked({ gfm: true, async: false })
  const ids = new Map<string, number>()
  marked.use({
    renderer: {
      html: ({ text: markup }: Tokens.HTML | Tokens.Tag) => html`${markup}`.toString(),
      heading({ tokens, depth, text: words }: Tokens.Heading) {
        // The first level is the title of the page.
        const level = Math.max(depth, 2)
        const id = headingId(words, ids)
        return `<h${level} id="${id}">${this.parser.parseInline(tokens)}</h${level}>\n`
      },
      link({ href, tokens }: Tokens.Link) {
        const inner = this.parser.parseInline(tokens)
        const target = local(href)
        if (!linkable.test(target)) return inner
        const rel = /^https?:/i.test(target) ? ' rel="nofollow noopener noreferrer"' : ''
        return `${html`<a href="${target}"`.toString()}${rel}>${inner}</a>`
      },
      image({ href, text: alt }: Tokens.Image) {
        const target = local(href)
        if (target.startsWith('/')) {
          return html`<img
            src="${target}"
            alt="${alt}"
            loading="lazy"
            width="720"
            height="300"
          />`.toString()
        }
        return linkable.test(target)
          ? html`<a href="${target}" rel="nofollow noopener noreferrer">${alt}</a>`.toString()
          : html`${alt}`.toString()
      },
      table({ header, rows }: Tokens.Table) {
        const cell = (entry: Tokens.TableCell, tag: string) => {
          const kind = entry.align === 'right' ? ' class="figure"' : ''
          return `<${tag}${kind}>${this.parser.parseInline(entry.tokens)}</${tag}>`
        }
        const head = header.map((entry) => cell(entry, 'th')).join('')
        const body = rows.map((row) => `<tr>${row.map((entry) => cell(entry, 'td')).join('')}</tr>`)
        return `<div class="scroll" tabindex="0" role="group" aria-label="Table"><table><thead><tr>${head}</tr></thead><tbody>${body.join('\n')}</tbody></table></div>`
      },
      code({ text: source }: Tokens.Code) {
        return html`<pre tabindex="0"><code>${source}</code></pre>`.toString()
      },
    },
  })
  const rendered = marked.parse(text)
  if (typeof rendered !== 'string') throw new Error('marked was set to be synchronous')
  return trusted(rendered)
}

/** `the-four-questions`, with a number where the words come again. */
function headingId(words: string, taken: Map<string, number>): string {
  const slug =
    words
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '') || 'part'
  const before = taken.get(slug) ?? 0
  taken.set(slug, before + 1)
  return before === 0 ? slug : `${slug}-${before + 1}`
}
