/** Renders Markdown as HTML without raw HTML, scripts or images from other hosts. */
import { Marked } from 'marked'
import type { Token, Tokens } from 'marked'

import { codeTabs, highlighted, isTab } from '../../src/pages/code-tabs.ts'
import { link } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../../src/pages/html-and-markdown.ts'
import { html, trusted } from '../../src/pages/html.ts'
import type { Html } from '../../src/pages/html.ts'

const blockMarker = /^<!-- block: ([a-z-]+) -->$/
const explicitId = / \{#([\w-]+)\}$/

/**
 * Renders GitHub-flavoured Markdown. Raw HTML is shown as text. Addresses of this site become paths, so that a page
 * works wherever it is served; images from other hosts become links. Lists that contain only links become a row of links.
 *
 * With `blocks`, which marks text of this project, `<!-- block: name -->` is replaced by that block, a heading may end
 * with its id (`{#id}`), and the first paragraph is set as an introduction. Adjacent code blocks in several languages
 * become tabs, followed by the answer if a block of JSON follows.
 */
export function renderMarkdown(
  text: string,
  siteUrl: string,
  blocks?: ReadonlyMap<string, HtmlAndMarkdown>,
): Html {
  const local = (href: string) =>
    href.startsWith(`${siteUrl}/`) ? href.slice(siteUrl.length) : href
  const marked = new Marked({ gfm: true, async: false })
  const ids = new Map<string, number>()
  let isIntroduction = blocks !== undefined
  const tabs = new Map<Token, readonly Tokens.Code[]>()
  marked.use({
    hooks: {
      processAllTokens: (tokens) => (blocks === undefined ? tokens : foldTabs(tokens, tabs)),
    },
    walkTokens: (token) => {
      // A number and its sign stay on one line; code is copied as it is.
      if (isText(token)) token.text = token.text.replaceAll(/(?<=\d) (?=%)/g, '\u00a0')
    },
    renderer: {
      html({ text: markup }: Tokens.HTML | Tokens.Tag) {
        const block = blocks?.get(blockMarker.exec(markup.trim())?.[1] ?? '')
        return (block?.html ?? html`${markup}`).toString()
      },
      heading({ tokens, depth, text: words }: Tokens.Heading) {
        // The first level is the title of the page.
        const level = Math.max(depth, 2)
        const [suffix, given] = (blocks && explicitId.exec(words)) ?? ['', null]
        const inner = this.parser.parseInline(tokens)
        return `<h${level} id="${given ?? headingId(words, ids)}">${inner.slice(0, inner.length - suffix.length)}</h${level}>\n`
      },
      paragraph({ tokens }: Tokens.Paragraph) {
        const attributes = isIntroduction ? ' class="lede"' : ''
        isIntroduction = false
        return `<p${attributes}>${this.parser.parseInline(tokens)}</p>\n`
      },
      list(token: Tokens.List) {
        if (blocks === undefined || !token.items.every(isLinkAlone)) return false
        const items = token.items.map((item) => `<li>${this.parser.parse(item.tokens)}</li>`)
        return `<ul class="links">${items.join('\n')}</ul>\n`
      },
      link({ href, tokens }: Tokens.Link) {
        const label = { html: trusted(this.parser.parseInline(tokens)), md: '' }
        return link(local(href), label).html.toString()
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
        return link(target, alt).html.toString()
      },
      table({ header, rows }: Tokens.Table) {
        const cell = (entry: Tokens.TableCell, tag: string, more = '') => {
          const kind = entry.align === 'right' ? ' class="figure"' : ''
          return `<${tag}${kind}${more}>${this.parser.parseInline(entry.tokens)}</${tag}>`
        }
        const head = header.map((entry) => cell(entry, 'th')).join('')
        const body = rows.map(([name, ...row]) => {
          const cells = row.map((entry, at) => {
            return cell(entry, 'td', html` data-label="${header[at + 1]?.text}"`.toString())
          })
          return `<tr>${name === undefined ? '' : cell(name, 'th', ' scope="row"')}${cells.join('')}</tr>`
        })
        // On narrow screens a table of figures becomes cards.
        const look = header.some(({ align }) => align === 'right') ? ' class="cards"' : ''
        return `<div class="scroll" tabindex="0" role="group" aria-label="Table"><table${look}><thead><tr>${head}</tr></thead><tbody>${body.join('\n')}</tbody></table></div>`
      },
      code(token: Tokens.Code) {
        const group = tabs.get(token)
        if (group === undefined) {
          const shown = token.lang === 'text' ? token.text : highlighted(token.text)
          return html`<pre tabindex="0"><code>${shown}</code></pre>`.toString()
        }
        const samples = group.filter(({ lang }) => isTab(lang))
        const answer = group.find(({ lang }) => lang === 'json')
        return codeTabs(
          `sample-${[...tabs.keys()].indexOf(token)}`,
          samples.map(({ lang = '', text: sample }) => ({ language: lang, text: sample })),
          answer === undefined ? null : { title: 'Answer', text: answer.text },
        ).html.toString()
      },
    },
  })
  const rendered = marked.parse(text)
  if (typeof rendered !== 'string') throw new Error('marked must run synchronously')
  return trusted(rendered)
}

const isText = (token: Token): token is Tokens.Text => token.type === 'text'

/** Leaves the first of adjacent code blocks in different languages, and records all of them in `tabs`. */
function foldTabs(tokens: readonly Token[], tabs: Map<Token, readonly Tokens.Code[]>): Token[] {
  const kept: Token[] = []
  let group: Tokens.Code[] = []
  for (const token of tokens.filter(({ type }) => type !== 'space')) {
    const [first] = group
    const language: string | undefined = isCode(token) ? token.lang : undefined
    const isNew = group.every(({ lang }) => lang !== language)
    if (first && isCode(token) && isNew && (isTab(language) || language === 'json')) {
      group.push(token)
      tabs.set(first, group)
    } else {
      group = isCode(token) && isTab(language) ? [token] : []
      kept.push(token)
    }
  }
  return kept
}

function isCode(token: Token): token is Tokens.Code {
  return token.type === 'code'
}

function isLinkAlone({ tokens }: Tokens.ListItem): boolean {
  const [paragraph] = tokens
  const parts = paragraph !== undefined && 'tokens' in paragraph ? paragraph.tokens : undefined
  return tokens.length === 1 && parts?.length === 1 && parts[0]?.type === 'link'
}

/** `the-four-questions`, with a number if the slug is already in use. */
function headingId(words: string, used: Map<string, number>): string {
  const slug =
    words
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '') || 'part'
  const before = used.get(slug) ?? 0
  used.set(slug, before + 1)
  return before === 0 ? slug : `${slug}-${before + 1}`
}
