/** Makes the income statements of months that are over and whose receipts have their final verdicts. */
import { chains } from '../../src/chain/chains.ts'
import { present } from '../../src/core/entries.ts'
import { groupBy } from '../../src/core/group-by.ts'
import { toUsdc } from '../../src/core/money.ts'
import { isAmountUnknown } from '../../src/core/onchain.ts'
import {
  firstOpenMonth,
  incomeReceipt,
  lastStated,
  makeStatement,
  maxStatedReceipts,
  monthEnd,
} from '../../src/core/statement.ts'
import type { IncomeLeaf, IncomeReceipt } from '../../src/core/statement.ts'
import { isoTime, secondMs } from '../../src/core/time.ts'
import { checksumAddress } from '../../src/core/wallet.ts'
import {
  dueMonths,
  endDue,
  incomeRecords,
  mostDueMonths,
  noteDueMonths,
  putStatement,
  statementsOf,
} from '../../src/db/income.ts'
import type { IncomeRecord } from '../../src/db/income.ts'
import { getMeta, setMeta } from '../../src/db/meta.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import type { Db } from '../../src/db/schema.ts'
import { evidenceOf } from '../../src/pages/evidence.ts'
import { isEvmChain } from '../chain/receipt-verdict.ts'
import type { BuilderDeps } from './run-job.ts'

interface StatementDeps extends Pick<BuilderDeps, 'clock'> {
  readonly isDemo: boolean
}

const longestRunMs = 30_000
/** Of `meta`: the last wallet of a run that ended early; the next run goes on after it. */
const afterKey = 'statements_after'

/**
 * Returns the number of new statements. The months of a wallet are closed in order. A wallet whose rows are incomplete
 * does not delay others.
 *
 * @throws the first error, after the other wallets
 */
export async function makeStatements({
  database: { reader, write },
  clock,
  signal,
  isDemo,
}: Pick<BuilderDeps, 'database' | 'signal'> & StatementDeps): Promise<number> {
  while (await write(noteDueMonths)) signal.throwIfAborted()
  const untilMs = clock.monotonic() + longestRunMs
  const last = (await getMeta(reader, afterKey)) ?? ''
  const due = await dueMonths(reader, firstOpenMonth(clock.now()), last)
  const failures: unknown[] = []
  let made = 0
  let after = ''
  for (const [wallet, months] of groupBy(due, (one) => one.wallet)) {
    signal.throwIfAborted()
    after = wallet
    try {
      made += await closeMonths({ reader, write, clock, isDemo }, wallet, months)
    } catch (error) {
      failures.push(error)
    }
    if (clock.monotonic() > untilMs) break
  }
  if (due.length < mostDueMonths && after === due.at(-1)?.wallet) after = ''
  if (after !== last) await write((tx) => setMeta(tx, afterKey, after))
  if (failures.length > 0) throw failures[0]
  return made
}

/** Up to the first month that stays open. Returns the number of new statements. */
async function closeMonths(
  deps: Pick<OpenDatabase, 'reader' | 'write'> & StatementDeps,
  wallet: string,
  months: readonly { readonly month: string }[],
): Promise<number> {
  const { reader, write } = deps
  let made = 0
  for (const { month } of months) {
    const statement = await statementOf(reader, wallet, month, deps)
    if (statement === 'open') break
    if (statement === 'empty') await write((tx) => endDue(tx, wallet, month))
    else {
      await write((tx) => putStatement(tx, wallet, statement))
      made += 1
    }
  }
  return made
}

/** `empty`: earlier statements have the receipts as they are. */
async function statementOf(
  db: Db,
  wallet: string,
  month: string,
  { clock, isDemo }: StatementDeps,
) {
  const closed = await statementsOf(db, wallet)
  const earlier = closed.map(({ body }) => body)
  const stated = lastStated(earlier)
  const records = await incomeRecords(db, wallet, monthEnd(month))
  const again = records.filter(({ id }) => stated.has(id)).map(rowOf)
  const unstated = records.filter(({ id }) => !stated.has(id))
  const receipts = unstated.filter(isFinal).slice(0, maxStatedReceipts).map(rowOf)
  const last = closed.at(-1)
  const facts = {
    ...(isDemo && { demo: true as const }),
    wallet: records[0]?.to_display ?? wallet,
    month,
    closed_at: isoTime(clock.now()),
    previous: last === undefined ? null : { month: last.month, sha256: last.sha256 },
    receipts,
  }
  const body = makeStatement(facts, again, earlier)
  const isCorrected = body.corrections.length > 0
  // Receipts that came after the month could be closed hold no correction back.
  const isLate = (time: string) => isCorrected && firstOpenMonth(Date.parse(time)) > month
  if (unstated.some((one) => !isFinal(one) && !isLate(one.accepted_at))) return 'open'
  if (!isCorrected && receipts.length === 0) return 'empty'
  return { body, isWhole: receipts.length === unstated.length }
}

/** A transfer counts after the first check of its payer. Receipts on chains that nobody checks get no other verdict. */
function isFinal({ onchain, verdict, stage }: IncomeRecord): boolean {
  return onchain === 'verified' ? stage !== 0 : onchain !== 'pending' || verdict === 'unchecked'
}

function rowOf(record: IncomeRecord): IncomeReceipt {
  const { kind, verification, chain, tx_hash, platform, dispute, payer } = record
  const isOnChain = record.onchain === 'verified'
  const isLinked = isOnChain && (record.is_linked === 1 || payer === record.to_wallet)
  const facts = { kind, verification, onchain_verified: isOnChain, ...present({ platform }) }
  const evidence = evidenceOf(facts)
  const leaf = evidence === 'on chain' && !isLinked ? leafOf(record) : null
  const from = record.from_display ?? (payer === null ? null : checksumAddress(payer))
  return {
    receipt_id: record.id,
    occurred_at: record.occurred_at,
    rail: record.rail,
    verdict: isLinked ? 'linked' : incomeReceipt.shape.verdict.parse(evidence.replaceAll(' ', '_')),
    amount_usdc: toUsdc(record.amount_micro_usdc),
    ...(isAmountUnknown(kind, record.amount_micro_usdc)
      ? { unknown_figures: ['amount_usdc'] }
      : {}),
    ...present({ payer: from, platform, chain, tx_hash, dispute, leaf }),
  }
}

/** @throws Error if a verified receipt lacks a fact of its transfer */
function leafOf(record: IncomeRecord): IncomeLeaf {
  const { chain, tx_hash, payer: from, block_at, log_index } = record
  const isWhole = tx_hash !== null && from !== null && block_at !== null && log_index !== null
  if (chain === null || !isEvmChain(chain) || !isWhole) {
    throw new Error(`the transfer of ${record.id} is incomplete`)
  }
  return {
    chain_id: chains[chain].chainId,
    token: chains[chain].usdc.address,
    from,
    to: record.to_wallet,
    amount_micro_usdc: record.amount_micro_usdc,
    block_time: Date.parse(block_at) / secondMs,
    tx_hash,
    log_index,
  }
}
