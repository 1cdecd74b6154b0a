/** Blocks of a page in both forms. A Markdown block has no final line break. */
import type { Receipt } from '../contract/schemas/receipt.ts'
import { inline, link, longestBacktickRun, renderInline, strong } from './html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from './html-and-markdown.ts'
import { html } from './html.ts'
import type { Html } from './html.ts'
import type { SitePage } from './page.ts'

type Links = readonly (readonly [href: string, label: string] | null)[]

export function heading(level: 2 | 3, label: Inline, id: string): HtmlAndMarkdown {
  const { html: inner, md } = renderInline(label)
  return {
    html: html`<h${level} id="${id}"><a href="#${id}">${inner}</a></h${level}>`,
    md: `${'#'.repeat(level)} ${md}`,
  }
}

export function section(
  id: string,
  title: Inline,
  ...blocks: readonly (HtmlAndMarkdown | null)[]
): HtmlAndMarkdown {
  const content = stacked([heading(2, title, id), ...blocks])
  return { html: html`<section aria-labelledby="${id}">${content.html}</section>`, md: content.md }
}

export function stacked(blocks: readonly (HtmlAndMarkdown | null)[]): HtmlAndMarkdown {
  const shown = blocks.filter((block) => block !== null)
  return {
    html: html`${shown.map((block) => html`${block.html} `)}`,
    md: shown
      .map(({ md }) => md)
      .filter((md) => md !== '')
      .join('\n\n'),
  }
}

export function contentOf({ body }: Pick<SitePage, 'body'>): HtmlAndMarkdown {
  return stacked(typeof body === 'function' ? body() : body)
}

/** Escapes characters that would open a heading, a list or a rule. */
function lineStart(md: string): string {
  return md.trim().replace(/^(?:(\d+)([.)])|([#>+=-]))/, '$1\\$2$3')
}

export function para(content: Inline, className = ''): HtmlAndMarkdown {
  const { html: inner, md } = renderInline(content)
  return {
    html: className === '' ? html`<p>${inner}</p>` : html`<p class="${className}">${inner}</p>`,
    md: lineStart(md),
  }
}

/** A paragraph in larger type. */
export function introduction(content: Inline): HtmlAndMarkdown {
  return para(content, 'lede')
}

/** A note next to a figure. `none`: nothing is in doubt. */
export function doubt(
  severity: 'critical' | 'info' | 'none' | 'warning',
  content: Inline,
): HtmlAndMarkdown {
  const { html: inner, md } = renderInline(content)
  return { html: html`<div class="doubt ${severity}">${inner}</div>`, md: lineStart(md) }
}

/** The first line of a page: marks, dates and counts. */
export function standing(parts: readonly Inline[]): HtmlAndMarkdown {
  const shown = parts.filter((part) => part !== null).map(renderInline)
  return {
    html: html`<p class="standing">${shown.map((part) => html`<span>${part.html}</span> `)}</p>`,
    md: shown.map(({ md }) => md).join(' · '),
  }
}

/** The conclusion of a page as a sentence. */
export function verdict(content: Inline): HtmlAndMarkdown {
  return para(content, 'verdict')
}

export function list(items: readonly Inline[]): HtmlAndMarkdown {
  const rendered = items.map(renderInline)
  return {
    html: html`<ul>
      ${rendered.map((item) => html`<li>${item.html}</li>`)}
    </ul>`,
    md: rendered.map(({ md }) => `- ${lineStart(md)}`).join('\n'),
  }
}

export function steps(items: readonly Inline[]): HtmlAndMarkdown {
  const rendered = items.map(renderInline)
  return {
    html: html`<ol class="steps">
      ${rendered.map((item) => html`<li>${item.html}</li>`)}
    </ol>`,
    md: rendered.map(({ md }, index) => `${index + 1}. ${lineStart(md)}`).join('\n'),
  }
}

export type Fact = readonly [term: string, value: Inline] | null

export function fact<T>(term: string, value: T | undefined, show: (value: T) => Inline): Fact {
  return value === undefined ? null : [term, show(value)]
}

/** Null entries are omitted. */
export function facts(entries: readonly Fact[]): HtmlAndMarkdown {
  const shown = entries
    .filter((entry) => entry !== null)
    .map(([term, value]) => ({ term, value: renderInline(value) }))
  return {
    html: html`<dl class="facts">
      ${shown.map(
        ({ term, value }) =>
          html`<div>
            <dt>${term}</dt>
            <dd>${value.html}</dd>
          </div>`,
      )}
    </dl>`,
    md: shown.map(({ term, value }) => `- ${term}: ${nested(value.md)}`).join('\n'),
  }
}

/** A list inside a list item starts on its own line, indented. */
function nested(md: string): string {
  return md.startsWith('- ') ? `\n  ${md.replaceAll('\n', '\n  ')}` : md
}

/** The two to six most important figures of a page. `isDoubted`: what is left out or questioned. */
export function keyFigures(
  entries: readonly {
    readonly label: string
    readonly value: Inline
    readonly unit?: string
    readonly note: Inline
    readonly isDoubted?: boolean
  }[],
): HtmlAndMarkdown {
  const shown = entries.map(({ label, value, unit = '', note, isDoubted = false }) => {
    return { label, unit, isDoubted, value: renderInline(value), note: renderInline(note) }
  })
  return {
    html: html`<dl class="keys">
      ${shown.map(
        ({ label, value, unit, note, isDoubted }) =>
          html`<div${isDoubted ? html` class="doubted"` : null}>
            <dt>${label}</dt>
            <dd>
              <b>${value.html} <small>${unit}</small></b
              ><small>${note.html}</small>
            </dd>
          </div>`,
      )}
    </dl>`,
    md: shown
      .map(
        ({ label, value, unit, note }) =>
          `- ${label}: ${`${value.md} ${unit}`.trim()} (${note.md})`,
      )
      .join('\n'),
  }
}

/** A payment as a slip: its payer, the amount in large type, its worker. */
export function slip(
  label: string,
  parts: readonly { readonly title: string; readonly value: Inline; readonly note?: Inline }[],
): HtmlAndMarkdown {
  const shown = parts.map(({ title, value, note = null }) => {
    return { title, value: renderInline(value), note: renderInline(note) }
  })
  return {
    html: html`<section class="slip" aria-label="${label}">
      ${shown.map(({ title, value, note }, at) =>
        at === 1
          ? html`<div class="sum">
              <h2>${title}</h2>
              <b>${value.html}</b><small>${note.html}</small>
            </div>`
          : html`<div>
              <h2>${title}</h2>
              ${value.html} ${note.md !== '' && html`<p>${note.html}</p>`}
            </div>`,
      )}
    </section>`,
    md: shown
      .map(({ title, value, note }) => `- ${title}: ${value.md} ${note.md}`.trim())
      .join('\n'),
  }
}

type Action = readonly [href: string, label: string, look?: 'quiet' | 'warn']

/** Links in the form of buttons. */
export function actions(entries: readonly Action[]): HtmlAndMarkdown {
  const shown = entries.map(([href, label, look = '']) => link(href, label, `btn ${look}`.trim()))
  return {
    html: html`<p class="actions">${shown.map((button) => html`${button.html} `)}</p>`,
    md: shown.map(({ md }) => md).join(' · '),
  }
}

/** The facts that most readers look for and their next steps, in a box next to the page on wide screens. */
export function glance(entries: readonly Fact[], next: readonly Action[]): HtmlAndMarkdown {
  const { html: list, md } = facts(entries)
  const elsewhere = next.filter(([href]) => !href.startsWith('#'))
  return aside('At a glance', {
    html: html`${list}${actions(next).html}`,
    md: [md, ...elsewhere.map(([href, label]) => `- ${link(href, label).md}`)].join('\n'),
  })
}

/** A box next to the page on wide screens, and after the introduction on narrow ones. */
export function aside(title: string, { html: content, md }: HtmlAndMarkdown): HtmlAndMarkdown {
  return {
    html: html`<aside class="glance" aria-label="${title}">
      <h2>${title}</h2>
      ${content}
    </aside>`,
    md,
  }
}

/** One entry a line: its name, what is said about it, and a figure, a date or a drawing. */
export function rows(
  entries: readonly {
    readonly id?: string
    readonly name: Inline
    readonly text: Inline
    readonly end: Inline
  }[],
): HtmlAndMarkdown {
  const shown = entries.map(({ id, name, text, end }) => {
    return { id, name: renderInline(name), text: renderInline(text), end: renderInline(end) }
  })
  return {
    html: html`<ul class="rows">
      ${shown.map(
        ({ id, name, text, end }) =>
          html`<li${id === undefined ? null : html` id="${id}"`}>
            <div class="name">${name.html}</div>
            <div>${text.html}</div>
            <div class="end">${end.html}</div>
          </li>`,
      )}
    </ul>`,
    md: shown
      .map(({ name, text, end }) => {
        const parts = [text.md, end.md].filter((part) => part.trim() !== '')
        return `- ${lineStart(name.md)}${parts.length === 0 ? '' : `: ${parts.join(' · ')}`}`
      })
      .join('\n'),
  }
}

/** Behind a list or table: narrow screens show its first nine entries until a reader opens it; see the style sheet. */
export function showAll(total: number): HtmlAndMarkdown | null {
  if (total <= 9) return null
  return htmlOnly(
    html`<details class="all">
      <summary>Show all ${total}</summary>
    </details>`,
  )
}

export function codeBlock(text: string, language: string): HtmlAndMarkdown {
  const fence = '`'.repeat(Math.max(3, longestBacktickRun(text) + 1))
  return {
    html: html`<pre tabindex="0"><code class="language-${language}">${text}</code></pre>`,
    md: `${fence}${language}\n${text}\n${fence}`,
  }
}

export function notice(title: string, content: Inline): HtmlAndMarkdown {
  const { html: inner, md } = inline`${strong(`${title}.`)} ${content}`
  return { html: html`<p class="notice" role="note">${inner}</p>`, md: `> ${md.trim()}` }
}

/** A block that is collapsed in HTML and open in Markdown. */
export function folded(summary: string, block: HtmlAndMarkdown): HtmlAndMarkdown {
  return {
    html: html`<details>
      <summary>${summary}</summary>
      ${block.html}
    </details>`,
    md: `${summary}:\n\n${block.md}`,
  }
}

/** Button that verifies a signed document in the browser. */
export function verifyBox(documentPath: string, label = documentPath): HtmlAndMarkdown {
  const manual = inline`Checks ${link(documentPath, label)} as your browser receives it. To check it by hand, see ${link('/docs/verifying', 'how to verify')}.`
  return {
    html: checkBox(html`data-verify="${documentPath}"`, 'Check the signature', manual.html),
    md: `Signed document: ${link(documentPath, label).md}. ${link('/docs/verifying', 'How to verify').md}.`,
  }
}

/** For a receipt without a signed document: checks its id and its own signature. */
export function verifyReceiptBox(
  { receipt_id: id, kind }: Pick<Receipt, 'kind' | 'receipt_id'>,
  isLogged: boolean,
): HtmlAndMarkdown {
  // The ledger checked the signature of a platform when it accepted the receipt.
  const checked = kind === 'signed' ? ', checks the signature of the worker,' : ''
  const about = `Computes the id from the content${checked} and follows the proof to the signed root of the log. For the payment, see its transaction.`
  return {
    html: checkBox(
      html`data-verify-receipt="${id}" data-logged="${isLogged ? 'yes' : 'no'}"`,
      'Check in this browser',
      about,
    ),
    md: '',
  }
}

function checkBox(attribute: Html, label: string, about: Html | string): Html {
  return html`<div class="verify" ${attribute}>
    <button type="button" disabled>${label}</button>
    <p>${about}<noscript> The button needs JavaScript.</noscript></p>
    <div class="result" role="status"></div>
  </div>`
}

export function htmlOnly(content: Html, md = ''): HtmlAndMarkdown {
  return { html: content, md }
}

/** A table of contents, collapsed if long. Markdown omits it. */
export function contents(entries: Links): HtmlAndMarkdown {
  const { html: row } = links(entries)
  const inner =
    entries.length <= 20
      ? row
      : html`<details>
          <summary>On this page: ${entries.length} entries</summary>
          ${row}
        </details>`
  return htmlOnly(html`<nav class="jump" aria-label="On this page">${inner}</nav>`)
}

export function links(entries: Links): HtmlAndMarkdown {
  const items = entries.filter((entry) => entry !== null).map(([href, label]) => link(href, label))
  return {
    html: html`<ul class="links">
      ${items.map((item) => html`<li>${item.html}</li>`)}
    </ul>`,
    md: items.map(({ md }) => `- ${md}`).join('\n'),
  }
}
