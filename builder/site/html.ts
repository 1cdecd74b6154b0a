/** HTML of the pages: hono's template, which escapes every value that is not HTML already. */
import { html as template, raw } from 'hono/html'

/** Text that is HTML already. */
export type Html = ReturnType<typeof raw>
export type HtmlChild = string | number | boolean | null | undefined | Html | readonly HtmlChild[]

/** Pages are made of values that are there: a promise among them is a mistake. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlChild[]): Html {
  const made = template(strings, ...values)
  if (made instanceof Promise) throw new Error('a page cannot wait for a promise')
  return made
}

/** Marks text as HTML. Only for what this program wrote itself: charts and rendered Markdown. */
export function trusted(text: string): Html {
  return raw(text)
}
