import { ChainError } from '../../../builder/chain/errors.ts'
import { createChainReader } from '../../../builder/chain/reader.ts'
import { csv } from '../../../builder/documents/csv.ts'
import type { Cell } from '../../../builder/documents/csv.ts'
import { LedgerUnreachableError } from '../../../src/client/errors.ts'
import { decimalUsdc } from '../../../src/contract/x402.ts'
import { minuteMs, parseTime } from '../../../src/core/time.ts'
import type { OpenDatabase } from '../../../src/db/open.ts'
import { listPayments } from '../../../src/db/payments/lists.ts'
import type { PaymentRecord } from '../../../src/db/payments/record.ts'
import { UsageError } from '../input.ts'
import type { Input } from '../input.ts'
import { exitCodes, table } from '../output.ts'
import type { Session } from '../session.ts'
import { transfersTo } from './payment-transfers.ts'
import { reconciliation } from './reconciliation.ts'
import { settingsOf, withDatabase } from './settings.ts'

const PAGE = 1000

const columns = [
  'time',
  'kind',
  'payer',
  'amount_usdc',
  'resource',
  'state',
  'tx_hash',
  'block',
  'handle',
] as const

/** Every payment, oldest first; with `--csv` as RFC 4180, safe to open in a spreadsheet. */
export async function exportPayments(session: Session, input: Input): Promise<void> {
  const payments = (await readPayments(session)).map(view)
  if (input.flag('csv')) {
    session.write(
      csv(
        columns,
        payments.map((row) => columns.map((column): Cell => row[column])),
      ),
    )
    return
  }
  session.print({ count: payments.length, payments }, table(columns, payments))
}

async function readPayments(session: Session): Promise<readonly PaymentRecord[]> {
  return await withDatabase(session, async ({ reader }) => await allPayments(reader), true)
}

async function allPayments(reader: OpenDatabase['reader']): Promise<readonly PaymentRecord[]> {
  const all: PaymentRecord[] = []
  for (;;) {
    const afterSeq = all.at(-1)?.seq ?? 0
    const page = await listPayments(reader, { afterSeq, limit: PAGE })
    all.push(...page)
    if (page.length < PAGE) return all
  }
}

function view(payment: PaymentRecord) {
  const handle = payment.detail?.['handle']
  return {
    time: payment.settledAt ?? payment.submittedAt ?? payment.reservedAt,
    kind: payment.purpose,
    payer: payment.payer,
    amount_usdc: decimalUsdc(payment.amountMicroUsdc),
    resource: payment.resource,
    state: payment.finality === 'undone' ? 'undone' : payment.state,
    tx_hash: payment.txHash,
    block: payment.blockNumber,
    handle: typeof handle === 'string' ? handle : null,
  }
}

/** An authorization may be settled by others before it is reserved here, and clocks differ. */
const EARLIER_MS = 60 * minuteMs

/** Exit code 1 where rows and chain differ. @throws LedgerUnreachableError where the chain does not answer. */
export async function reconcile(session: Session, input: Input): Promise<number> {
  const { RPC_URL_BASE: rpcUrl, PAYMENT_RECEIVER: receiver } = settingsOf(session)
  if (rpcUrl === null)
    throw new UsageError('RPC_URL_BASE must be set: the rows are compared with that chain')
  const payments = await readPayments(session)
  const receivers = new Set(
    [receiver, ...payments.map(({ payTo }) => payTo)].flatMap((address) =>
      address === null ? [] : [address.toLowerCase()],
    ),
  )
  if (receivers.size === 0) throw new UsageError('PAYMENT_RECEIVER is not set and no row has one')
  const reader = createChainReader('base', rpcUrl, session)
  try {
    const toBlock = blockOf(input, 'to-block') ?? (await reader.head())
    const fromBlock = blockOf(input, 'from-block') ?? (await firstBlock(reader, payments, toBlock))
    const transfers = await transfersTo(reader, { receivers, fromBlock, toBlock })
    // Rows are written before their money moves, so rows read now cover all these transfers.
    const result = reconciliation({
      payments: await readPayments(session),
      transfers,
      fromBlock,
      toBlock,
    })
    const { differences, ...totals } = result
    const columnsOfDifference = [
      'kind',
      'payment',
      'tx_hash',
      'block',
      'payer',
      'amount_usdc',
      'detail',
    ]
    const text =
      differences.length === 0
        ? `${summary(totals)}Rows and chain agree.\n`
        : `${summary(totals)}${table(columnsOfDifference, differences)}`
    session.print(result, text)
    return differences.length === 0 ? exitCodes.ok : exitCodes.refused
  } catch (error) {
    if (error instanceof ChainError) throw new LedgerUnreachableError(error.message)
    throw error
  }
}

function summary(totals: object): string {
  return Object.entries(totals)
    .map(([name, value]) => `${name} ${String(value)}\n`)
    .join('')
}

/** A block shortly before the first row; without rows the last block is enough. */
async function firstBlock(
  reader: ReturnType<typeof createChainReader>,
  payments: readonly PaymentRecord[],
  toBlock: number,
): Promise<number> {
  const [first] = payments
  if (first === undefined) return toBlock
  const settled = payments.flatMap(({ blockNumber }) => (blockNumber === null ? [] : [blockNumber]))
  const byTime = await reader.blockAtTime((parseTime(first.reservedAt) ?? 0) - EARLIER_MS)
  return Math.min(byTime, toBlock, ...settled)
}

function blockOf(input: Input, name: string): number | null {
  const text = input.text(name)
  return text === undefined ? null : Number(text)
}
