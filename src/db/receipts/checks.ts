/** What the chains say of receipts, and which of them are to be asked about again. */
import type { Kysely, Selectable } from 'kysely'

import { sql } from '../kysely.ts'
import type { Database } from '../schema.ts'
import type { ReceiptChecksTable } from '../tables/receipts.ts'
import type { OnchainState, Verification } from './record.ts'

export interface StoredBlock {
  readonly number: number
  readonly hash: string
}

/** A transaction that some receipts name and that is to be looked at now. */
export interface DueTransaction {
  readonly txHash: string
  /** When the earliest of its receipts says that it was paid, RFC 3339. */
  readonly occurredAt: string
  /** Blocks in which it was seen; more than one only where it was moved between two looks. */
  readonly seenIn: readonly StoredBlock[]
  /** Whether a receipt among them was never seen in a block, so that the block alone does not settle it. */
  readonly isNew: boolean
}

interface DueRow {
  readonly tx_hash: string
  readonly occurred_at: string
  readonly block_number: number | null
  readonly block_hash: string | null
}

/**
 * Transactions of receipts that wait for their chain, those that have waited longest first, so that a run that cannot do
 * all leaves none behind for good; `now` is RFC 3339.
 */
export async function dueTransactions(
  db: Kysely<Database>,
  chain: string,
  now: string,
  limit: number,
): Promise<readonly DueTransaction[]> {
  const { rows } = await sql<DueRow>`
    select tx_hash, occurred_at, block_number, block_hash from (
      select r.seq, r.tx_hash, r.occurred_at, c.block_number, c.block_hash,
        coalesce(c.next_at, r.accepted_at) as due_since
      from receipts r left join receipt_checks c on c.receipt_id = r.id
      where r.chain = ${chain} and r.onchain = 'pending' and (c.next_at is null or c.next_at <= ${now})
      union all
      select r.seq, r.tx_hash, r.occurred_at, c.block_number, c.block_hash, c.next_at as due_since
      from receipt_checks c join receipts r on r.id = c.receipt_id
      where c.chain = ${chain} and c.next_at <= ${now}
        and r.onchain in ('verified', 'failed')
    ) order by due_since, seq limit ${limit}
  `.execute(db)
  const found = new Map<string, DueTransaction>()
  for (const row of rows) {
    const before = found.get(row.tx_hash)
    const { block_number: number, block_hash: hash } = row
    const seen = number === null || hash === null ? [] : [{ number, hash }]
    found.set(row.tx_hash, {
      txHash: row.tx_hash,
      occurredAt: before?.occurredAt ?? row.occurred_at,
      seenIn: [...(before?.seenIn ?? []), ...seen].filter(
        (block, at, all) => all.findIndex((other) => other.hash === block.hash) === at,
      ),
      isNew: before?.isNew === true || seen.length === 0,
    })
  }
  return [...found.values()]
}

/** How many receipts wait by chain, whenever they are due. */
export async function waitingByChain(db: Kysely<Database>): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ chain: string; waiting: number }>`
    select chain, count(*) as waiting from receipts
    where onchain = 'pending' and chain is not null group by chain order by chain
  `.execute(db)
  return new Map(rows.map(({ chain, waiting }) => [chain, waiting]))
}

export type CheckRow = Omit<Selectable<ReceiptChecksTable>, 'receipt_id' | 'chain' | 'tx_hash'>

/** A receipt as its check needs it, and what the last check found. */
export interface CheckedReceipt {
  readonly id: string
  readonly rail: string
  readonly kind: 'platform' | 'signed'
  readonly chain: string
  readonly txHash: string
  readonly fromWallet: string | null
  readonly toWallet: string
  readonly toDisplay: string
  readonly amountMicroUsdc: number
  readonly assetSymbol: string
  readonly occurredAt: string
  readonly verification: Verification
  readonly verificationReason: string | null
  readonly onchain: OnchainState
  readonly check: CheckRow | null
}

const checkColumns = [
  'verdict',
  'reason',
  'block_number',
  'block_hash',
  'block_at',
  'log_index',
  'payer',
  'attempts',
  'consecutive_not_found',
  'first_missing_at',
  'verdict_at',
  'checked_at',
  'next_at',
] as const satisfies readonly (keyof CheckRow)[]

/**
 * All receipts that name a transaction and were not refused for good, in the order of their acceptance. A refusal is not
 * for good while its block may be reorganised.
 */
export async function receiptsOfTransaction(
  db: Kysely<Database>,
  chain: string,
  txHash: string,
): Promise<readonly CheckedReceipt[]> {
  const rows = await db
    .selectFrom('receipts')
    .leftJoin('receipt_checks', 'receipt_checks.receipt_id', 'receipts.id')
    .select([
      'receipts.id',
      'receipts.rail',
      'receipts.kind',
      'receipts.from_wallet',
      'receipts.to_wallet',
      'receipts.to_display',
      'receipts.amount_micro_usdc',
      'receipts.asset_symbol',
      'receipts.occurred_at',
      'receipts.verification',
      'receipts.verification_reason',
      'receipts.onchain',
      ...checkColumns,
    ])
    .where('receipts.chain', '=', chain)
    .where('receipts.tx_hash', '=', txHash)
    .where((where) =>
      where.or([
        where('receipts.onchain', 'in', ['pending', 'verified']),
        where.and([
          where('receipts.onchain', '=', 'failed'),
          where('receipt_checks.next_at', 'is not', null),
        ]),
      ]),
    )
    .orderBy('receipts.seq')
    .execute()
  return rows.map((row) => ({
    id: row.id,
    rail: row.rail,
    kind: row.kind,
    chain,
    txHash,
    fromWallet: row.from_wallet,
    toWallet: row.to_wallet,
    toDisplay: row.to_display,
    amountMicroUsdc: row.amount_micro_usdc,
    assetSymbol: row.asset_symbol,
    occurredAt: row.occurred_at,
    verification: row.verification,
    verificationReason: row.verification_reason,
    onchain: row.onchain,
    check: checkOf(row),
  }))
}

function checkOf(row: { readonly [Column in keyof CheckRow]: CheckRow[Column] | null }) {
  const {
    verdict,
    attempts,
    consecutive_not_found,
    verdict_at: verdictAt,
    checked_at: checkedAt,
  } = row
  if (verdict === null || attempts === null || consecutive_not_found === null) return null
  if (verdictAt === null || checkedAt === null) return null
  return {
    ...row,
    verdict,
    attempts,
    consecutive_not_found,
    verdict_at: verdictAt,
    checked_at: checkedAt,
  }
}

/** Keeps what a check found. A log that backs another receipt already is a unique violation. */
export async function saveCheck(
  db: Kysely<Database>,
  receipt: Pick<CheckedReceipt, 'id' | 'chain' | 'txHash'>,
  check: CheckRow,
): Promise<void> {
  await db
    .insertInto('receipt_checks')
    .values({ receipt_id: receipt.id, chain: receipt.chain, tx_hash: receipt.txHash, ...check })
    .onConflict((conflict) => conflict.column('receipt_id').doUpdateSet(check))
    .execute()
}

/** Releases the transfer that backed a receipt; what else was found goes with it. */
export async function dropCheck(db: Kysely<Database>, receiptId: string): Promise<void> {
  await db.deleteFrom('receipt_checks').where('receipt_id', '=', receiptId).execute()
}

export interface ReceiptOutcome {
  readonly verification: Verification
  readonly verificationReason: string | null
  readonly onchain: OnchainState
  /** RFC 3339: documents that show the receipt are made anew. */
  readonly now: string
}

/** Writes what a check comes to into the receipt itself. */
export async function setOutcome(
  db: Kysely<Database>,
  receiptId: string,
  outcome: ReceiptOutcome,
): Promise<void> {
  await db
    .updateTable('receipts')
    .set({
      verification: outcome.verification,
      verification_reason: outcome.verificationReason,
      onchain: outcome.onchain,
      onchain_checked_at: outcome.now,
    })
    .where('id', '=', receiptId)
    .execute()
}

type UnsupportedChainReceipt = Pick<
  CheckedReceipt,
  'id' | 'chain' | 'txHash' | 'verification' | 'verificationReason'
>

/** Receipts of a chain without a checker that were not told so yet; at most `limit`. */
export async function receiptsOnUnsupportedChains(
  db: Kysely<Database>,
  checkable: readonly string[],
  limit: number,
): Promise<readonly UnsupportedChainReceipt[]> {
  const rows = await db
    .selectFrom('receipts')
    .select(['id', 'chain', 'tx_hash', 'verification', 'verification_reason'])
    .where('onchain', '=', 'pending')
    .where('chain', 'not in', [...checkable])
    .where((where) =>
      where.not(
        where.exists(
          where
            .selectFrom('receipt_checks')
            .select('receipt_id')
            .whereRef('receipt_checks.receipt_id', '=', 'receipts.id'),
        ),
      ),
    )
    .orderBy('seq')
    .limit(limit)
    .execute()
  return rows.flatMap(
    ({ chain, tx_hash: txHash, verification_reason: verificationReason, ...row }) =>
      chain === null || txHash === null ? [] : [{ ...row, chain, txHash, verificationReason }],
  )
}
