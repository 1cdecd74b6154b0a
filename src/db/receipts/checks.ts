import { sql } from 'kysely'

import { sha256Hex } from '../../auth/messages.ts'
import { toJsonText } from '../json.ts'
import { queueEntries } from '../log.ts'
import type { QueuedEntry } from '../log.ts'
import { putRecord, selectRecords } from '../records.ts'
import { columnsOf } from '../rows.ts'
import type { MemberOf, RecordOf } from '../rows.ts'
import type { Db } from '../schema.ts'
import { onchainView } from './receipts.ts'

export interface StoredBlock {
  readonly number: number
  readonly hash: string
}

export interface DueTransaction {
  readonly txHash: string
  /** The earliest payment time stated by its receipts, RFC 3339. */
  readonly occurredAt: string
  /** Has several blocks only after a reorganisation. */
  readonly seenIn: readonly StoredBlock[]
  /** True if at least one of its receipts was never seen in a block. */
  readonly isNew: boolean
}

interface DueRow {
  readonly txHash: string
  readonly occurredAt: string
  readonly number: number | null
  readonly hash: string | null
}

/**
 * Takes one transaction of each worker in turn, so that no worker delays the receipts of others. The receipts of a worker
 * that were never checked come first, then those that have waited longest. `now` is RFC 3339.
 */
export async function dueTransactions(
  db: Db,
  chain: string,
  now: string,
  limit: number,
): Promise<readonly DueTransaction[]> {
  const { rows } = await sql<DueRow>`
    select tx_hash as "txHash", occurred_at as "occurredAt", block_number as number, block_hash as hash from (
      select due.*, row_number() over (partition by to_wallet order by is_checked, due_since, seq) as turn from (
      select r.seq, r.to_wallet, c.next_at is not null as is_checked, r.tx_hash, r.occurred_at, c.block_number, c.block_hash,
        coalesce(c.next_at, r.accepted_at) as due_since
      from receipts r left join receipt_checks c on c.receipt_id = r.id
      where r.chain = ${chain} and r.onchain = 'pending' and (c.next_at is null or c.next_at <= ${now})
      union all
      select r.seq, r.to_wallet, true as is_checked, r.tx_hash, r.occurred_at, c.block_number, c.block_hash,
        c.next_at as due_since
      from receipt_checks c join receipts r on r.id = c.receipt_id
      where c.chain = ${chain} and c.next_at <= ${now}
        and r.onchain in ('verified', 'failed')
      ) as due
    ) as turns order by turn, is_checked, due_since, seq limit ${limit}
  `.execute(db)
  const found = new Map<string, DueTransaction>()
  for (const { txHash, occurredAt, number, hash } of rows) {
    const before = found.get(txHash)
    const seen = number === null || hash === null ? [] : [{ number, hash }]
    found.set(txHash, {
      txHash,
      occurredAt: before?.occurredAt ?? occurredAt,
      seenIn: [...(before?.seenIn ?? []), ...seen].filter(
        (block, at, all) => all.findIndex((other) => other.hash === block.hash) === at,
      ),
      isNew: before?.isNew === true || seen.length === 0,
    })
  }
  return [...found.values()]
}

export async function waitingByChain(db: Db): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ chain: string; waiting: number }>`
    select chain, count(*) as waiting from receipts
    where onchain = 'pending' and chain is not null group by chain order by chain
  `.execute(db)
  return new Map(rows.map(({ chain, waiting }) => [chain, waiting]))
}

export type ReceiptCheck = Omit<RecordOf<'receipt_checks'>, 'receiptId' | 'chain' | 'txHash'>

const checkedColumns = columnsOf(
  'receipts',
  'id',
  'rail',
  'kind',
  'from_wallet',
  'to_wallet',
  'to_display',
  'amount_micro_usdc',
  'asset_symbol',
  'occurred_at',
  'verification',
  'verification_reason',
  'onchain',
)

export interface CheckedReceipt extends Pick<
  RecordOf<'receipts'>,
  MemberOf<(typeof checkedColumns)[number]>
> {
  readonly chain: string
  readonly txHash: string
  readonly check: ReceiptCheck | null
}

/** Excludes finally refused receipts; in order of acceptance. A refusal is final once its block is final. */
export async function receiptsOfTransaction(
  db: Db,
  chain: string,
  txHash: string,
): Promise<readonly CheckedReceipt[]> {
  const receipts = await db
    .selectFrom('receipts')
    .select(checkedColumns)
    .where('chain', '=', chain)
    .where('tx_hash', '=', txHash)
    .where('onchain', 'in', ['pending', 'verified', 'failed'])
    .orderBy('seq')
    .execute()
  const receiptIds = receipts.map(({ id }) => id)
  const checks = await selectRecords(db, 'receipt_checks', { receiptId: receiptIds }).execute()
  const checkOf = new Map(checks.map(({ receiptId, ...check }) => [receiptId, check]))
  return receipts
    .map((receipt) => ({ ...receipt, chain, txHash, check: checkOf.get(receipt.id) ?? null }))
    .filter(({ onchain, check }) => onchain !== 'failed' || (check?.nextAt ?? null) !== null)
}

/** Throws a unique violation if the log backs another receipt. */
export async function saveCheck(
  db: Db,
  receipt: Pick<CheckedReceipt, 'id' | 'chain' | 'txHash'> & Partial<Pick<CheckedReceipt, 'check'>>,
  check: ReceiptCheck,
): Promise<void> {
  const { id: receiptId, chain, txHash, check: before = null } = receipt
  await putRecord(db, 'receipt_checks', { ...check, receiptId, chain, txHash }, 'receiptId')
  const logged = loggedCheck(receiptId, check)
  const isShown = before !== null && loggedCheck(receiptId, before).sha256 === logged.sha256
  if (check.verdict !== 'unchecked' && !isShown) await queueEntries(db, [logged])
}

/** Hashed as `onchain` of `GET /receipts/{id}`, with `receipt_id`. The id has the time of the check, which `since` may precede. */
function loggedCheck(receiptId: string, check: ReceiptCheck): QueuedEntry {
  const { blockNumber: number, blockHash: hash, checkedAt } = check
  const sha256 = sha256Hex(toJsonText({ receipt_id: receiptId, ...onchainView(check) }))
  const block = number === null || hash === null ? {} : { extra: { block: { number, hash } } }
  return { kind: 'check', id: `${receiptId} ${checkedAt}`, sha256, ...block }
}

export type ReceiptOutcome = Pick<
  RecordOf<'receipts'>,
  'verification' | 'verificationReason' | 'onchain'
>

type UnsupportedChainReceipt = Pick<
  CheckedReceipt,
  'id' | 'chain' | 'txHash' | 'verification' | 'verificationReason'
>

export async function receiptsOnUnsupportedChains(
  db: Db,
  checkable: readonly string[],
  limit: number,
): Promise<readonly UnsupportedChainReceipt[]> {
  const rows = await db
    .selectFrom('receipts')
    .select([
      'id',
      'chain',
      'tx_hash as txHash',
      'verification',
      'verification_reason as verificationReason',
    ])
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
  return rows.flatMap(({ chain, txHash, ...receipt }) =>
    chain === null || txHash === null ? [] : [{ ...receipt, chain, txHash }],
  )
}
