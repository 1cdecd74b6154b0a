/** What is proven, step by step: the line is solid as far as the proof reaches. */
import { renderInline } from './html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from './html-and-markdown.ts'
import { html } from './html.ts'

export interface ProofStep {
  /** `open`: the reader trusts somebody; `no`: refuted. */
  readonly state: 'yes' | 'open' | 'no'
  readonly title: Inline
  readonly result: string
  readonly text: Inline
}

const marks = { yes: '✓', open: '?', no: '×' } as const
const words = { yes: 'proven', open: 'not proven', no: 'refuted' } as const

export function proof(steps: readonly ProofStep[]): HtmlAndMarkdown {
  const shown = steps.map((step) => {
    return { ...step, title: renderInline(step.title), text: renderInline(step.text) }
  })
  return {
    html: html`<ol class="proof">
      ${shown.map(
        ({ state, title, result, text }) =>
          html`<li class="${state}">
            <span class="m" aria-hidden="true">${marks[state]}</span>
            <h3>${title.html} <span class="vh">(${words[state]})</span></h3>
            <span class="result">${result}</span>
            <p>${text.html}</p>
          </li>`,
      )}
    </ol>`,
    md: shown
      .map(
        ({ state, title, result, text }, index) =>
          `${index + 1}. **${title.md}** (${words[state]}, ${result}): ${text.md}`,
      )
      .join('\n'),
  }
}
