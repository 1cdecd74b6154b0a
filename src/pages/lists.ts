/** Search forms and links to older entries; both lead to pages rendered on request. */
import { htmlOnly } from './blocks.ts'
import { link, renderInline } from './html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from './html-and-markdown.ts'
import { html } from './html.ts'
import type { Html } from './html.ts'

export type SearchedList = 'receipts' | 'workers' | 'jobs' | 'partners'

export const searchedLists: Readonly<
  Record<SearchedList, { readonly title: string; readonly label: string; readonly api: string }>
> = {
  receipts: {
    title: 'Receipts',
    label: 'Receipt id or wallet of the worker',
    api: 'A receipt is at /receipts/ followed by its id; the receipts of a worker are at /api/v1/receipts?wallet= followed by the wallet.',
  },
  workers: {
    title: 'Workers',
    label: 'Wallet or slug of a skill',
    api: 'A worker is at /workers/ followed by the wallet; the workers with a skill are at /api/v1/workers?skill= followed by the slug of the skill.',
  },
  jobs: {
    title: 'Jobs',
    label: 'Job id, status, skill or wallet of the poster',
    api: 'A job is at /jobs/ followed by its id; lists are at /api/v1/jobs with status=, skill=, wallet= or worker=.',
  },
  partners: {
    title: 'Partners',
    label: 'Handle of a partner',
    api: 'A partner is at /partners/ followed by the handle.',
  },
}

/** Counts end at 1,000. */
export function shownTotal(list: {
  readonly total: number
  readonly total_is_exact?: false
}): string {
  return list.total_is_exact === false ? '1,000 or more' : String(list.total)
}

/** `result`: the number of matches in words. */
export function searchForm(kind: SearchedList, query = '', result = ''): HtmlAndMarkdown {
  const { label, api } = searchedLists[kind]
  return htmlOnly(
    html`<form
      class="filters"
      action="${listPath(kind)}"
      method="get"
      role="search"
      autocomplete="off"
    >
      <label
        >${label}
        <input
          type="search"
          name="q"
          value="${query}"
          maxlength="80"
          spellcheck="false"
          size="36" /></label
      ><button type="submit">Search</button><output role="status">${result}</output>
    </form>`,
    api,
  )
}

/** A checkbox of a form; `chosen`: the checked values. */
export function chip(name: string, value: string, chosen: readonly string[], label: Inline): Html {
  const checked = chosen.includes(value) ? html` checked` : null
  return html`<label
    ><input
      type="checkbox"
      name="${name}"
      value="${value}"
      ${checked}
    />${renderInline(label).html}</label
  >`
}

export function listPath(kind: SearchedList): string {
  return `/view/${kind}`
}

/** Null if the page shows all entries. `next` is the cursor of the first entry not shown. */
export function olderLink(
  kind: Exclude<SearchedList, 'partners'>,
  next: string | null,
  query: Readonly<Record<string, string>> = {},
): HtmlAndMarkdown | null {
  if (next === null) return null
  const path = `${listPath(kind)}?${queryString({ ...query, cursor: next })}`
  const older = link(path, `Show older ${kind}`)
  const json = `/api/v1/${kind}?${queryString({ ...query, limit: '100', cursor: next })}`
  return {
    html: html`<p data-more="${kind}">${older.html}</p>`,
    md: link(json, `Older ${kind}, JSON`).md,
  }
}

function queryString(query: Readonly<Record<string, string>>): string {
  return new URLSearchParams(query).toString()
}
