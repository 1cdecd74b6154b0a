/** The tools and prompts that the service offers over the Model Context Protocol. */
import type { z } from 'zod'

import { mcpPrompts, mcpToolFacts } from '../../../src/contract/mcp.ts'
import { entriesOf } from '../../../src/core/entries.ts'
import { code, textWithCode } from '../../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../../../src/pages/html-and-markdown.ts'
import { column, table } from '../../../src/pages/table.ts'

export function mcpToolTable(): HtmlAndMarkdown {
  return tableOf('tools', mcpToolFacts())
}

export function mcpPromptTable(): HtmlAndMarkdown {
  return tableOf('prompts', entriesOf(mcpPrompts))
}

interface Row {
  readonly description: string
  readonly input: z.ZodObject
}

function tableOf(
  id: string,
  rows: readonly (readonly [name: string, row: Row])[],
): HtmlAndMarkdown {
  return table(rows, {
    id,
    caption: 'Arguments with a question mark are optional.',
    sortable: false,
    rowId: ([name]) => `${id}-${name}`,
    columns: [
      column('Name', ([name]) => code(name)),
      column('Arguments', ([, { input }]) => argumentsOf(input)),
      column('Description', ([, { description }]) => textWithCode(description), { kind: 'wide' }),
    ],
  })
}

function argumentsOf({ shape }: z.ZodObject): HtmlAndMarkdown | string {
  const names = Object.entries<z.ZodType>(shape).map(([name, schema]) =>
    schema.safeParse(undefined).success ? `${name}?` : name,
  )
  return names.length === 0 ? 'none' : code(names.join(', '))
}
