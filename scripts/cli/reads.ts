/** What the ledger publishes. */
import type { Command } from './command.ts'
import { table } from './output.ts'

export const readCommands: readonly Command[] = [
  {
    words: 'rails',
    summary: 'All rails with status and volume',
    kind: 'read',
    run: async ({ reader, print }) => {
      const answer = await reader().rails()
      const columns = [
        'rail',
        'status',
        'chain',
        'tpv_30d_usdc',
        'unique_workers_30d',
        'figures_source',
      ]
      // An unknown figure stands as 0 in the document and means unknown: people are shown no 0 for it.
      const rows = answer.rails.map((rail) => ({
        ...rail,
        ...Object.fromEntries(rail.unknown_figures.map((figure) => [figure, null])),
      }))
      print(answer, table(columns, rows))
    },
  },
  {
    words: 'rail',
    summary: 'One rail with its method and evidence',
    operands: [{ name: 'name', doc: 'the slug of a rail, such as x402' }],
    kind: 'read',
    run: async ({ reader, print }, input) => print(await reader().rail(input.operand('name'))),
  },
  {
    words: 'opportunities',
    summary: 'Rails that pay now, the best expected income first',
    kind: 'read',
    run: async ({ reader, print }) => {
      const answer = await reader().opportunities()
      const columns = ['rail', 'chain', 'expected_usd_per_day', 'entry_cost_usdc', 'apply_url']
      print(answer, table(columns, answer.opportunities))
    },
  },
  {
    words: 'flags',
    summary: 'Open honesty flags, the most severe first',
    kind: 'read',
    run: async ({ reader, print }) => {
      const answer = await reader().flags()
      print(answer, table(['severity', 'kind', 'rail', 'opened_at', 'title'], answer.flags))
    },
  },
]
