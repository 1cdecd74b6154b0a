/** The table of error codes: when each is returned and how to handle it. */
import { errorCodes } from '../../../src/contract/errors.ts'
import { entriesOf } from '../../../src/core/entries.ts'
import { code, link } from '../../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../../../src/pages/html-and-markdown.ts'
import { column, figureColumn, fixedColumn, table } from '../../../src/pages/table.ts'
import texts from './remedies.json' with { type: 'json' }

/** By code, or else by status. */
const remedies: Readonly<Record<string, string>> = texts

export function errorTable(): HtmlAndMarkdown {
  return table(entriesOf(errorCodes), {
    id: 'error-codes',
    caption: 'By status.',
    rowId: ([name]) => name,
    columns: [
      column('Code', ([name]) => link(`#${name}`, code(name))),
      figureColumn('Status', null, ([, { status }]) => String(status)),
      fixedColumn('When', ([, { message }]) => message, 'wide'),
      fixedColumn(
        'What to do',
        ([name, { status }]) => remedies[name] ?? remedies[status] ?? 'Read details.',
        'wide',
      ),
    ],
  })
}
