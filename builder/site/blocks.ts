import { link, longestBacktickRun, inline, strong, renderInline } from './html-and-markdown.ts'
import type { Inline, HtmlAndMarkdown } from './html-and-markdown.ts'
/** Blocks of a page in both forms. A Markdown block ends without a line end; the page puts blank lines between. */
import { html, trusted } from './html.ts'
import type { Html } from './html.ts'

export function heading(level: 2 | 3, label: Inline, id: string): HtmlAndMarkdown {
  const { html: inner, md } = renderInline(label)
  return {
    html: level === 2 ? html`<h2 id="${id}">${inner}</h2>` : html`<h3 id="${id}">${inner}</h3>`,
    md: `${'#'.repeat(level)} ${md}`,
  }
}

/** A part of a page under its heading. */
export function section(
  id: string,
  title: Inline,
  ...blocks: readonly (HtmlAndMarkdown | null)[]
): HtmlAndMarkdown {
  const content = stacked([heading(2, title, id), ...blocks])
  return { html: html`<section aria-labelledby="${id}">${content.html}</section>`, md: content.md }
}

/** Blocks one below the other. */
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

/** Text that opens a line must not open a heading, a list or a rule. */
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
    html: html`<ol>
      ${rendered.map((item) => html`<li>${item.html}</li>`)}
    </ol>`,
    md: rendered.map(({ md }, index) => `${index + 1}. ${lineStart(md)}`).join('\n'),
  }
}

/** Terms with what they are; entries that are null are left out. */
export function facts(entries: readonly (readonly [string, Inline] | null)[]): HtmlAndMarkdown {
  const shown = entries
    .filter((entry) => entry !== null)
    .map(([term, content]) => ({ term, content: renderInline(content) }))
  return {
    html: html`<dl class="facts">
      ${shown.map(
        ({ term, content }) =>
          html`<div>
            <dt>${term}</dt>
            <dd>${content.html}</dd>
          </div>`,
      )}
    </dl>`,
    md: shown.map(({ term, content }) => `- ${term}: ${nested(content.md)}`).join('\n'),
  }
}

/** A list inside an item of a list stands below it, indented. */
function nested(md: string): string {
  return md.startsWith('- ') ? `\n  ${md.replaceAll('\n', '\n  ')}` : md
}

/** Two drawings beside each other where there is room. */
export function pair(blocks: readonly HtmlAndMarkdown[]): HtmlAndMarkdown {
  const { html: inner, md } = stacked(blocks)
  return { html: html`<div class="pair">${inner}</div>`, md }
}

/** Large figures side by side, each with its unit and window. */
export function tiles(
  entries: readonly {
    readonly label: string
    readonly value: HtmlAndMarkdown
    readonly note: Inline
  }[],
): HtmlAndMarkdown {
  const shown = entries.map(({ label, value, note }) => ({
    label,
    value,
    note: renderInline(note),
  }))
  return {
    html: html`<dl class="tiles">
      ${shown.map(
        ({ label, value, note }) =>
          html`<div>
            <dt>${label}</dt>
            <dd><b>${value.html}</b><small>${note.html}</small></dd>
          </div>`,
      )}
    </dl>`,
    md: shown.map(({ label, value, note }) => `- ${label}: ${value.md} (${note.md})`).join('\n'),
  }
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

/** A drawing with its caption; the numbers in words are the caption of the Markdown form too. */
export function figure(svg: string, caption: Inline): HtmlAndMarkdown {
  const { html: inner, md } = renderInline(caption)
  return {
    html: html`<figure>
      <div class="scroll" tabindex="0" role="group" aria-label="Chart">${trusted(svg)}</div>
      <figcaption>${inner}</figcaption>
    </figure>`,
    md: `Chart: ${md}`,
  }
}

/** What can be folded away on the page; the Markdown form shows it. */
export function folded(summary: string, block: HtmlAndMarkdown): HtmlAndMarkdown {
  return {
    html: html`<details>
      <summary>${summary}</summary>
      ${block.html}
    </details>`,
    md: `${summary}:\n\n${block.md}`,
  }
}

/** The check of a signed document in the reader's own browser. */
export function verifyBox(documentPath: string, what: string): HtmlAndMarkdown {
  const byHand = inline`Checks ${link(documentPath, what)} as your browser receives it. By hand: ${link('/docs/verifying', 'how to verify')}.`
  return {
    html: html`<div class="verify" data-verify="${documentPath}">
      <button type="button" disabled>Check the signature</button>
      <p>${byHand.html}<noscript> The button needs JavaScript; the guide does not.</noscript></p>
      <div class="result" role="status"></div>
    </div>`,
    md: `Signed document: ${link(documentPath, what).md}. ${link('/docs/verifying', 'How to verify').md}.`,
  }
}

/** HTML that has no other form; the Markdown form says something else instead, or nothing. */
export function htmlOnly(content: Html, md = ''): HtmlAndMarkdown {
  return { html: content, md }
}

/** Where the parts of a long page are, folded away where they are many. In Markdown the headings tell. */
export function contents(
  entries: readonly (readonly [href: string, label: string])[],
): HtmlAndMarkdown {
  const { html: row } = links(entries)
  const inner =
    entries.length <= 20
      ? row
      : html`<details>
          <summary>On this page: ${entries.length} entries</summary>
          ${row}
        </details>`
  return htmlOnly(html`<nav aria-label="On this page">${inner}</nav>`)
}

/** Links in a row. */
export function links(
  entries: readonly (readonly [href: string, label: string] | null)[],
): HtmlAndMarkdown {
  const shown = entries.filter((entry) => entry !== null)
  const items = shown.map(([href, label]) => link(href, label))
  return {
    html: html`<ul class="links">
      ${items.map((item) => html`<li>${item.html}</li>`)}
    </ul>`,
    md: items.map(({ md }) => `- ${md}`).join('\n'),
  }
}
