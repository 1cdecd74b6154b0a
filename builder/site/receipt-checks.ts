/** The last on-chain check of receipts, by chain, on `/status` and as a signed document. */
import { section } from '../../src/pages/blocks.ts'
import { pill, time } from '../../src/pages/figures.ts'
import { untrustedText, link, inline } from '../../src/pages/html-and-markdown.ts'
import type { Inline, HtmlAndMarkdown } from '../../src/pages/html-and-markdown.ts'
import { column, countColumn, table } from '../../src/pages/table.ts'
import { plainJson, unarchived } from '../documents/document.ts'
import type { PublicDocument } from '../publish/document.ts'
import type { ChainReport } from '../world/receipt-run.ts'
import type { World } from '../world/world.ts'

export const receiptChecksPath = '/status/receipts.json'

/** Apart from the first two, a column is shown if a chain has anything in it. */
const counts = [
  ['due', 'Due'],
  ['verified', 'Verified'],
  ['provisional', 'Provisional'],
  ['waiting', 'Waiting'],
  ['failed', 'Rejected'],
  ['reversed', 'Reversed'],
  ['errors', 'Errors'],
  ['rpc_calls', 'RPC calls'],
] as const satisfies readonly (readonly [keyof ChainReport, string])[]

export function receiptChecks({ receiptRun }: Pick<World, 'receiptRun'>): HtmlAndMarkdown {
  const when: Inline =
    receiptRun === null
      ? 'and have not been checked yet'
      : inline`most recently from ${time(receiptRun.started_at)} to ${time(receiptRun.finished_at)}`
  const nodes = receiptRun?.nodes
  const chains = receiptRun?.chains ?? []
  const shown = counts.filter(([name], at) => at < 2 || chains.some((chain) => chain[name] > 0))
  const where: Inline =
    nodes === undefined
      ? null
      : nodes.length === 0
        ? ' No RPC node is configured, so on-chain receipts cannot be verified.'
        : ` RPC nodes are configured for ${nodes.join(', ')}; receipts on other chains remain pending.`
  return section(
    'receipts',
    'Receipt checks',
    table(chains, {
      id: 'receipt-checks',
      caption: inline`Receipts are checked on-chain every hour, ${when}.${where} An error does not change the result of a receipt. ${link('/docs/receipts', 'How receipts are verified')}`,
      columns: [
        column('Chain', ({ chain }) => untrustedText(chain)),
        column('Outcome', ({ state }) => pill(state)),
        ...shown.map(([name, label]) =>
          countColumn(label, null, (report: ChainReport) => report[name]),
        ),
        column('Reason', ({ reason }) => (reason === undefined ? '' : untrustedText(reason))),
      ],
      empty: inline`Receipts are checked on-chain every hour, ${when}${receiptRun === null ? null : '; nothing was due'}.${where} ${link('/docs/receipts', 'How receipts are verified')}`,
    }),
  )
}

/** Empty before the first run. */
export function receiptChecksDocument({ receiptRun }: Pick<World, 'receiptRun'>): PublicDocument[] {
  if (receiptRun === null) return []
  return [unarchived(receiptChecksPath, 'application/json', 60, plainJson(receiptRun))]
}
