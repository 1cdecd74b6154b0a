/** Sentences of the contract: text between backticks becomes code in both forms of a page. */
import { code, concat, renderInline } from '../../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../../../src/pages/html-and-markdown.ts'

export function contractText(text: string): HtmlAndMarkdown {
  return concat(
    text.split('`').map((part, index) => (index % 2 === 1 ? code(part) : renderInline(part))),
  )
}
