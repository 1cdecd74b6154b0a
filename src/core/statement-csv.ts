import { csv } from './csv.ts'
import type { IncomeStatement } from './statement.ts'
import { isoTime, secondMs } from './time.ts'

const columns =
  'month line receipt_id occurred_at rail payer platform verdict verdict_before dispute amount_usdc counted_usdc chain tx_hash log_index block_time'.split(
    ' ',
  )

/** A line for each receipt and each correction. `counted_usdc` is what it adds to the running total. Only demo ledgers have the column `demo`. */
export function statementCsv({ demo, month, receipts, corrections }: IncomeStatement): string {
  const stated = receipts.map(({ leaf, ...row }) => {
    const counted_usdc = leaf === undefined ? 0 : row.amount_usdc
    const block_time = leaf && isoTime(leaf.block_time * secondMs)
    const transfer = { counted_usdc, log_index: leaf?.log_index, block_time }
    return { month, line: 'receipt', ...row, ...transfer }
  })
  const corrected = corrections.map(({ was, is, change_usdc: counted_usdc, ...row }) => {
    return { line: 'correction', ...row, verdict: is, verdict_before: was, counted_usdc }
  })
  const lines = [...stated, ...corrected].map(({ unknown_figures, ...line }) => {
    return { ...line, ...(unknown_figures && { amount_usdc: null }), demo }
  })
  return csv(demo ? [...columns, 'demo'] : columns, lines)
}
