/** Receipts as rows. */
import type { Receipt } from '../../src/contract/schemas/receipt.ts'
import { amount, hash, pill, time } from './figures.ts'
import { untrustedText, link } from './html-and-markdown.ts'
import type { Inline, HtmlAndMarkdown } from './html-and-markdown.ts'
import { railPath } from './rail-parts.ts'
import { cell, table } from './table.ts'

export function receiptPath(id: string): string {
  return `/receipts/${id}`
}

export function receiptTable(
  id: string,
  caption: Inline,
  receipts: readonly Receipt[],
): HtmlAndMarkdown {
  return table({
    id,
    caption,
    columns: [
      { label: 'Receipt' },
      { label: 'Verification' },
      { label: 'Rail' },
      { label: 'Amount', unit: 'USDC', kind: 'figure' },
      { label: 'From' },
      { label: 'To' },
      { label: 'Dated' },
    ],
    rows: receipts.map((receipt) => ({
      // The search of the page looks for whole identifiers and wallets, which the cells show shortened.
      data: { find: [receipt.receipt_id, receipt.from_wallet, receipt.to_wallet].join(' ') },
      cells: [
        cell(link(receiptPath(receipt.receipt_id), hash(receipt.receipt_id)), receipt.receipt_id),
        pill(receipt.verification),
        link(railPath(receipt.rail), untrustedText(receipt.rail)),
        cell(amount(receipt.amount_usdc), receipt.amount_usdc),
        receipt.from_wallet === undefined
          ? 'not stated'
          : cell(hash(receipt.from_wallet), receipt.from_wallet),
        cell(link(`/workers/${receipt.to_wallet}`, hash(receipt.to_wallet)), receipt.to_wallet),
        cell(time(Date.parse(receipt.occurred_at)), Date.parse(receipt.occurred_at)),
      ],
    })),
    empty: 'None yet.',
  })
}
