/** Code in several languages behind tabs that need no script, with the answer below. Without `:has` all are shown. */
import { codeBlock, stacked } from './blocks.ts'
import type { HtmlAndMarkdown } from './html-and-markdown.ts'
import { html } from './html.ts'
import type { Html } from './html.ts'

export interface CodeSample {
  readonly language: string
  readonly text: string
}

/** The label of each language that is a tab. */
const labels: Readonly<Record<string, string>> = { sh: 'curl', ts: 'TypeScript', py: 'Python' }

export function isTab(language: string | undefined): boolean {
  return language !== undefined && language in labels
}

/** @param name unique on its page; the script of the site remembers the chosen language for all pages */
export function codeTabs(
  name: string,
  samples: readonly CodeSample[],
  answer: { readonly title: string; readonly text: string } | null = null,
): HtmlAndMarkdown {
  const tabs = samples.map(
    ({ language }, at) =>
      html`<label
        ><input
          type="radio"
          name="${name}"
          value="${language}"
          ${at === 0 && html`checked`}
        />${labels[language]}</label
      >`,
  )
  const blocks = samples.map(
    ({ language, text }) =>
      html`<pre tabindex="0" data-language="${language}"><code>${highlighted(text)}</code></pre>`,
  )
  return {
    html: html`<div class="code">
      <div class="hd">
        <fieldset class="seg">
          <legend class="vh">Language</legend>
          ${tabs}
        </fieldset>
      </div>
      ${blocks}${
        answer &&
        html`<pre class="out" tabindex="0"><code><span class="c"># ${answer.title}</span>
${answer.text}</code></pre>`
      }
    </div>`,
    md: stacked([
      ...samples.map(({ language, text }) => codeBlock(text, language)),
      answer && { html: html``, md: `${answer.title}:` },
      answer && codeBlock(answer.text, 'json'),
    ]).md,
  }
}

const marks =
  /(?<c>(?<=^|\s)(?:#|\/\/) .*)|(?<q>'[^'\n]*'|"[^"\n]*"|`[^`\n]*`)|\b(?<k>as|await|const|for|from|if|import|in|not|with)\b/gm

/** Marks comments, strings and keywords of all languages alike. */
export function highlighted(text: string): Html {
  const parts: (Html | string)[] = []
  let end = 0
  for (const { 0: found, index, groups = {} } of text.matchAll(marks)) {
    const kind = Object.keys(groups).find((name) => groups[name] !== undefined) ?? ''
    parts.push(text.slice(end, index), html`<span class="${kind}">${found}</span>`)
    end = index + found.length
  }
  return html`${[...parts, text.slice(end)]}`
}
