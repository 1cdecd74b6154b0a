import { ChainError } from '../../../src/chain/errors.ts'
import { createChainReader } from '../../../src/chain/reader.ts'
import type { ChainReader } from '../../../src/chain/reader.ts'
import { LedgerUnreachableError } from '../../../src/client/errors.ts'
import { decimalUsdc } from '../../../src/contract/x402.ts'
import { csv } from '../../../src/core/csv.ts'
import type { Cell } from '../../../src/core/csv.ts'
import { entriesOf } from '../../../src/core/entries.ts'
import { minuteMs, parseTime } from '../../../src/core/time.ts'
import type { OpenDatabase } from '../../../src/db/open.ts'
import { findPartner } from '../../../src/db/partners.ts'
import { assignPayment, listPayments } from '../../../src/db/payments.ts'
import type { PaymentRecord } from '../../../src/db/payments.ts'
import { UsageError } from '../input.ts'
import type { Input } from '../input.ts'
import { describe, exitCodes, table } from '../output.ts'
import type { Session } from '../session.ts'
import { transfersTo } from './payment-transfers.ts'
import { reconciliation } from './reconciliation.ts'
import { changeDatabase, settingsOf, withDatabase } from './settings.ts'

const PAGE = 1000

const columns: Readonly<Record<string, (payment: PaymentRecord) => Cell>> = {
  time: ({ settledAt, submittedAt, reservedAt }) => settledAt ?? submittedAt ?? reservedAt,
  kind: ({ purpose }) => purpose,
  payer: ({ payer }) => payer,
  amount_usdc: ({ amountMicroUsdc }) => decimalUsdc(amountMicroUsdc),
  resource: ({ resource }) => resource,
  state: ({ finality, state }) => (finality === 'undone' ? finality : state),
  tx_hash: ({ txHash }) => txHash,
  block: ({ blockNumber }) => blockNumber,
  handle: ({ detail }) => (typeof detail?.['handle'] === 'string' ? detail['handle'] : null),
}

/** Prints all payments, oldest first; with `--csv` as RFC 4180, safe to open in a spreadsheet. */
export async function exportPayments(session: Session, input: Input): Promise<void> {
  const names = Object.keys(columns)
  const payments = (await readPayments(session)).map((payment) =>
    Object.fromEntries(entriesOf(columns).map(([name, cellOf]) => [name, cellOf(payment)])),
  )
  if (input.flag('csv')) session.write(csv(names, payments))
  else session.print({ count: payments.length, payments }, table(names, payments))
}

async function readPayments(session: Session): Promise<readonly PaymentRecord[]> {
  const readAll = async ({ reader }: OpenDatabase) => {
    const all: PaymentRecord[] = []
    for (;;) {
      const page = await listPayments(reader, { afterSeq: all.at(-1)?.seq ?? 0, limit: PAGE })
      all.push(...page)
      if (page.length < PAGE) return all
    }
  }
  return await withDatabase(session, readAll, true)
}

/** Someone else may settle an authorization before the ledger reserves it, and clocks differ. */
const EARLIER_MS = 60 * minuteMs

/** Returns exit code 1 if rows and chain differ. @throws LedgerUnreachableError if the chain does not answer */
export async function reconcile(session: Session, input: Input): Promise<number> {
  const { RPC_URL_BASE: rpcUrl, PAYMENT_RECEIVER: receiver } = settingsOf(session)
  if (rpcUrl === null)
    throw new UsageError('RPC_URL_BASE must be set: the rows are compared with that chain')
  const payments = await readPayments(session)
  const addresses = [receiver, ...payments.map(({ payTo }) => payTo)]
  const receivers = new Set(
    addresses.filter((address) => address !== null).map((address) => address.toLowerCase()),
  )
  if (receivers.size === 0) throw new UsageError('PAYMENT_RECEIVER is not set and no row has one')
  try {
    const reader = createChainReader('base', rpcUrl, session)
    const range = await blockRange(reader, payments, input)
    const transfers = await transfersTo(reader, { receivers, ...range })
    // The ledger writes each row before the transfer is sent, so the current rows include all these transfers.
    const result = reconciliation(await readPayments(session), transfers, range)
    const { differences, ...totals } = result
    const isEqual = differences.length === 0
    const text = isEqual ? 'Rows and chain agree.\n' : table(differenceColumns, differences)
    session.print(result, `${describe(totals)}${text}`)
    return isEqual ? exitCodes.ok : exitCodes.refused
  } catch (error) {
    if (error instanceof ChainError) throw new LedgerUnreachableError(error.message)
    throw error
  }
}

const differenceColumns = ['kind', 'payment', 'tx_hash', 'block', 'payer', 'amount_usdc', 'detail']

/**
 * The default range starts shortly before the first row and ends at the last block. Without rows it is the last block.
 */
async function blockRange(reader: ChainReader, payments: readonly PaymentRecord[], input: Input) {
  const toBlock = Number(input.text('to-block') ?? (await reader.head()))
  const from = input.text('from-block')
  const [first] = payments
  if (from !== undefined) return { fromBlock: Number(from), toBlock }
  if (first === undefined) return { fromBlock: toBlock, toBlock }
  const settled = payments.map(({ blockNumber }) => blockNumber ?? toBlock)
  const byTime = await reader.blockAtTime((parseTime(first.reservedAt) ?? 0) - EARLIER_MS)
  return { fromBlock: Math.min(byTime, toBlock, ...settled), toBlock }
}

export async function assignHeldPayment(session: Session, input: Input): Promise<number> {
  const payment = input.required('payment')
  const handle = input.required('handle')
  const reason = input.required('reason')
  return await changeDatabase(
    session,
    { command: `payments assign ${handle}`, subject: payment, reason },
    'No held payment of a subscription has this id, or no partner has this handle.',
    async (tx) => {
      if ((await findPartner(tx, { handle })) === null) return null
      return (await assignPayment(tx, payment, handle)) ? { payment, handle } : null
    },
  )
}
