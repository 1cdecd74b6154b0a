/** Compares payment rows with transfers on the chain, without side effects. */
import { decimalUsdc } from '../../../src/contract/x402.ts'
import type { PaymentRecord } from '../../../src/db/payments.ts'
import type { ReceivedTransfer } from './payment-transfers.ts'

/**
 * Ignores rows in blocks outside the range. Kinds of differences: `unexplained`: a transfer without a row.
 * `row_not_settled`: a transfer whose row is not settled. `row_differs`: another amount, transaction or block.
 * `missing`: a settled row without a transfer.
 */
export function reconciliation(
  payments: readonly PaymentRecord[],
  transfers: readonly ReceivedTransfer[],
  range: { readonly fromBlock: number; readonly toBlock: number },
) {
  const { fromBlock, toBlock } = range
  const rows = new Map(payments.map((row) => [`${row.payer}:${row.nonce}`, row]))
  const matches = transfers.map((transfer) => {
    const key = `${transfer.payer}:${transfer.nonce}`
    return { transfer, row: transfer.nonce === null ? undefined : rows.get(key) }
  })
  const matched = new Set(matches.map(({ row }) => row?.id))
  const settled = payments.filter(
    ({ state, finality, blockNumber }) =>
      state === 'settled' &&
      finality !== 'undone' &&
      blockNumber !== null &&
      blockNumber >= fromBlock &&
      blockNumber <= toBlock,
  )
  const differences = [
    ...matches.map(({ transfer, row }) => transferDifference(transfer, row)),
    ...settled.filter(({ id }) => !matched.has(id)).map(missing),
  ].filter((difference) => difference !== null)
  return {
    from_block: fromBlock,
    to_block: toBlock,
    rows: payments.length,
    settled_rows: settled.length,
    settled_usdc: sum(settled.map(({ amountMicroUsdc }) => BigInt(amountMicroUsdc))),
    transfers: transfers.length,
    received_usdc: sum(transfers.map(({ amountMicroUsdc }) => amountMicroUsdc)),
    differences,
  }
}

function sum(amountsMicroUsdc: readonly bigint[]): string {
  return decimalUsdc(Number(amountsMicroUsdc.reduce((total, amount) => total + amount, 0n)))
}

function transferDifference(transfer: ReceivedTransfer, row: PaymentRecord | undefined) {
  const { txHash, block, amountMicroUsdc, nonce } = transfer
  const facts = factsOf(row, transfer)
  if (row === undefined) {
    const detail = nonce === null ? 'not by an authorization' : `authorization ${nonce}`
    return { kind: 'unexplained', ...facts, detail }
  }
  if (row.state !== 'settled' || row.finality === 'undone') {
    const state = row.finality === 'undone' ? 'undone' : row.state
    return { kind: 'row_not_settled', ...facts, detail: `the row is ${state}` }
  }
  const differing = [
    ...(BigInt(row.amountMicroUsdc) === amountMicroUsdc
      ? []
      : [`the row has ${decimalUsdc(row.amountMicroUsdc)} USDC`]),
    ...(row.txHash === txHash ? [] : [`the row has transaction ${row.txHash}`]),
    ...(row.blockNumber === block ? [] : [`the row has block ${row.blockNumber}`]),
  ]
  if (differing.length === 0) return null
  return { kind: 'row_differs', ...facts, detail: differing.join('; ') }
}

function missing(row: PaymentRecord) {
  const facts = factsOf(row, { ...row, block: row.blockNumber })
  return { kind: 'missing', ...facts, detail: 'the chain has no such transfer' }
}

function factsOf(
  row: PaymentRecord | undefined,
  paid: Pick<PaymentRecord, 'txHash' | 'payer'> & {
    readonly block: number | null
    readonly amountMicroUsdc: number | bigint
  },
) {
  return {
    payment: row?.id ?? null,
    tx_hash: paid.txHash,
    block: paid.block,
    payer: paid.payer,
    amount_usdc: decimalUsdc(Number(paid.amountMicroUsdc)),
  }
}
