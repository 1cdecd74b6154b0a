/** Blocks of a page in both forms. A Markdown block ends without a line end; the page puts blank lines between. */
import { html, trusted } from './html.ts'
import type { Html } from './html.ts'
import { link, longestRun, say, strong, twinOf } from './twin.ts'
import type { Said, Twin } from './twin.ts'

export function heading(level: 2 | 3, label: Said, id: string): Twin {
  const { html: inner, md } = twinOf(label)
  return {
    html: level === 2 ? html`<h2 id="${id}">${inner}</h2>` : html`<h3 id="${id}">${inner}</h3>`,
    md: `${'#'.repeat(level)} ${md}`,
  }
}

/** A part of a page under its heading. */
export function section(id: string, title: Said, ...blocks: readonly (Twin | null)[]): Twin {
  const content = stacked([heading(2, title, id), ...blocks])
  return { html: html`<section aria-labelledby="${id}">${content.html}</section>`, md: content.md }
}

/** Blocks one below the other. */
export function stacked(blocks: readonly (Twin | null)[]): Twin {
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

export function para(said: Said, className = ''): Twin {
  const { html: inner, md } = twinOf(said)
  return {
    html: className === '' ? html`<p>${inner}</p>` : html`<p class="${className}">${inner}</p>`,
    md: lineStart(md),
  }
}

export function list(items: readonly Said[]): Twin {
  const twins = items.map(twinOf)
  return {
    html: html`<ul>
      ${twins.map((item) => html`<li>${item.html}</li>`)}
    </ul>`,
    md: twins.map(({ md }) => `- ${lineStart(md)}`).join('\n'),
  }
}

export function steps(items: readonly Said[]): Twin {
  const twins = items.map(twinOf)
  return {
    html: html`<ol>
      ${twins.map((item) => html`<li>${item.html}</li>`)}
    </ol>`,
    md: twins.map(({ md }, index) => `${index + 1}. ${lineStart(md)}`).join('\n'),
  }
}

/** Terms with what they are; entries that are null are left out. */
export function facts(entries: readonly (readonly [string, Said] | null)[]): Twin {
  const shown = entries
    .filter((entry) => entry !== null)
    .map(([term, said]) => ({ term, twin: twinOf(said) }))
  return {
    html: html`<dl class="facts">
      ${shown.map(
        ({ term, twin }) =>
          html`<div>
            <dt>${term}</dt>
            <dd>${twin.html}</dd>
          </div>`,
      )}
    </dl>`,
    md: shown.map(({ term, twin }) => `- ${term}: ${nested(twin.md)}`).join('\n'),
  }
}

/** A list inside an item of a list stands below it, indented. */
function nested(md: string): string {
  return md.startsWith('- ') ? `\n  ${md.replaceAll('\n', '\n  ')}` : md
}

/** Two drawings beside each other where there is room. */
export function pair(blocks: readonly Twin[]): Twin {
  const { html: inner, md } = stacked(blocks)
  return { html: html`<div class="pair">${inner}</div>`, md }
}

/** Large figures side by side, each with its unit and window. */
export function tiles(
  entries: readonly { readonly label: string; readonly value: Twin; readonly note: Said }[],
): Twin {
  const shown = entries.map(({ label, value, note }) => ({ label, value, note: twinOf(note) }))
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

export function codeBlock(text: string, language: string): Twin {
  const fence = '`'.repeat(Math.max(3, longestRun(text) + 1))
  return {
    html: html`<pre tabindex="0"><code class="language-${language}">${text}</code></pre>`,
    md: `${fence}${language}\n${text}\n${fence}`,
  }
}

export function notice(title: string, said: Said): Twin {
  const { html: inner, md } = say`${strong(`${title}.`)} ${said}`
  return { html: html`<p class="notice" role="note">${inner}</p>`, md: `> ${md.trim()}` }
}

/** A drawing with its caption; the numbers in words are the caption of the Markdown form too. */
export function figure(svg: string, caption: Said): Twin {
  const { html: inner, md } = twinOf(caption)
  return {
    html: html`<figure>
      <div class="scroll" tabindex="0" role="group" aria-label="Chart">${trusted(svg)}</div>
      <figcaption>${inner}</figcaption>
    </figure>`,
    md: `Chart: ${md}`,
  }
}

/** What can be folded away on the page; the Markdown form shows it. */
export function folded(summary: string, block: Twin): Twin {
  return {
    html: html`<details>
      <summary>${summary}</summary>
      ${block.html}
    </details>`,
    md: `${summary}:\n\n${block.md}`,
  }
}

/** The check of a signed document in the reader's own browser. */
export function verifyBox(documentPath: string, what: string): Twin {
  const byHand = say`Checks ${link(documentPath, what)} as your browser receives it. By hand: ${link('/docs/verifying', 'how to verify')}.`
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
export function htmlOnly(content: Html, md = ''): Twin {
  return { html: content, md }
}

/** Where the parts of a long page are, folded away where they are many. In Markdown the headings tell. */
export function contents(entries: readonly (readonly [href: string, label: string])[]): Twin {
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
export function links(entries: readonly (readonly [href: string, label: string] | null)[]): Twin {
  const shown = entries.filter((entry) => entry !== null)
  const items = shown.map(([href, label]) => link(href, label))
  return {
    html: html`<ul class="links">
      ${items.map((item) => html`<li>${item.html}</li>`)}
    </ul>`,
    md: items.map(({ md }) => `- ${md}`).join('\n'),
  }
}
