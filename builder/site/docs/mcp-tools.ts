/** The tools that the service offers over the Model Context Protocol. */
import { entriesOf } from '../../../src/core/entries.ts'
import { code } from '../../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../../../src/pages/html-and-markdown.ts'
import { column, table } from '../../../src/pages/table.ts'

export const mcpToolNotes = {
  list_rails: ['status?, chain?, category?, limit?', 'Rails with their main figures.'],
  get_rail: ['rail', 'Everything published about one rail.'],
  list_opportunities: [
    'limit?',
    'Rails that pay now, highest expected income first, with caveats.',
  ],
  how_to_earn: [
    'rail',
    'Entry requirements, caveats and steps for one rail, and how to sign them.',
  ],
  list_pacts: [
    'state?, limit?',
    'Pacts that are settled, in flight, or recorded from other sources without proof of payment.',
  ],
  get_pact: ['pact_id', 'One pact.'],
  list_receipts: ['rail?, wallet?, status?, limit?', 'Receipts, newest first.'],
  get_receipt: ['receipt_id', 'One receipt with its content and its own signature.'],
  verify_receipt: ['receipt_id', 'Recomputes the id of a receipt and checks its signature.'],
  reputation_rules: ['', 'Formula, weights and decay of reputation.'],
} as const satisfies Readonly<Record<string, readonly [args: string, note: string]>>

export function mcpToolTable(): HtmlAndMarkdown {
  return table(entriesOf(mcpToolNotes), {
    id: 'tools',
    caption: 'Arguments with a question mark are optional.',
    sortable: false,
    rowId: ([name]) => name,
    columns: [
      column('Tool', ([name]) => code(name)),
      column('Arguments', ([, [args]]) => (args === '' ? 'none' : code(args))),
      column('Returns', ([, [, note]]) => note, { kind: 'wide' }),
    ],
  })
}
