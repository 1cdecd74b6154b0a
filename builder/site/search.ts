/** Searches that ask the API, and the way to entries that are older than the page. The script makes both work. */
import { pathOf } from '../../src/contract/routes.ts'
import type { HtmlAndMarkdown } from './html-and-markdown.ts'
import { link } from './html-and-markdown.ts'
import { html } from './html.ts'

interface SearchOptions {
  /** The id of the table, and the name of the list in its API. */
  readonly kind: 'receipts' | 'workers' | 'jobs' | 'partners'
  /** What can be looked for, in the words that label the field. */
  readonly what: string
  /** For readers without the script. */
  readonly byHand: string
}

export function searchForm({ kind, what, byHand }: SearchOptions): HtmlAndMarkdown {
  return {
    html: html`<form
      class="filters"
      data-search="${kind}"
      data-what="${what}"
      role="search"
      autocomplete="off"
    >
      <label
        >${what}
        <input type="search" name="q" maxlength="80" spellcheck="false" size="36" disabled /></label
      ><button type="submit" disabled>Search</button><output role="status"></output
      ><noscript><p>The search needs JavaScript. ${byHand}</p></noscript>
    </form>`,
    md: byHand,
  }
}

const lists = { receipts: 'listReceipts', workers: 'listWorkers', jobs: 'listJobs' } as const

/** Null where the page shows all. `next` is the cursor of the first entry that it does not show. */
export function more(kind: keyof typeof lists, next: string | null): HtmlAndMarkdown | null {
  if (next === null) return null
  const href = `${pathOf(lists[kind])}?limit=100&cursor=${encodeURIComponent(next)}`
  const older = link(href, `Older ${kind}, JSON`)
  return {
    html: html`<p data-more="${kind}" data-next="${next}" data-label="Show older ${kind}">
      ${older.html}
    </p>`,
    md: older.md,
  }
}
