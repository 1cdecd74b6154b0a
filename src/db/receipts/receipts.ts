import { sql } from 'kysely'

import { sha256Hex } from '../../auth/messages.ts'
import { apiPrefix } from '../../contract/route.ts'
import { receiptDetail } from '../../contract/schemas/receipt.ts'
import type { Receipt, ReceiptDetail } from '../../contract/schemas/receipt.ts'
import { explorerUrl } from '../../core/chains.ts'
import { entriesOf, present } from '../../core/entries.ts'
import { toUsdc } from '../../core/money.ts'
import { isAmountUnknown } from '../../core/onchain.ts'
import { countList, isLater, newestFirst } from '../list-queries.ts'
import type { RowList } from '../list-queries.ts'
import type { QueuedEntry } from '../log.ts'
import { queueEntries } from '../log.ts'
import { earnedBy } from '../reputation.ts'
import { columnsExcept, columnsOf, toRow } from '../rows.ts'
import type { MemberOf, RecordOf } from '../rows.ts'
import type { Db } from '../schema.ts'

export interface ReceiptRecord extends Omit<RecordOf<'receipts'>, 'content' | 'onchainCheckedAt'> {
  /** Absent before the first check. */
  readonly check?: FoundOnchain
  /** Canonical JSON, if it was selected. */
  readonly content?: string
}

/** `content`: canonical JSON. */
export type NewReceipt = Omit<RecordOf<'receipts'>, 'seq' | 'onchainCheckedAt'>

export const foundColumns = columnsOf(
  'receipt_checks',
  'verdict',
  'reason',
  'block_number',
  'block_hash',
  'block_at',
  'log_index',
  'verdict_at',
  'checked_at',
)

export type FoundOnchain = Pick<RecordOf<'receipt_checks'>, MemberOf<(typeof foundColumns)[number]>>

/** Hashed as `content` of `GET /receipts/{id}`. */
export function loggedReceipt({ id, content }: NewReceipt): QueuedEntry {
  return { kind: 'receipt', id, sha256: sha256Hex(content) }
}

export const receiptColumns = columnsExcept('receipts', 'content', 'onchain_checked_at')

/** Returns false if the content is already stored. */
export async function insertReceipt(db: Db, receipt: NewReceipt): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('receipts')
    .values(toRow<'receipts'>(receipt))
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirstOrThrow()
  if (numInsertedOrUpdatedRows === 0n) return false
  await queueEntries(db, [loggedReceipt(receipt)])
  return true
}

export async function findReceipt(db: Db, id: string): Promise<ReceiptRecord | null> {
  const row = await db
    .selectFrom('receipts')
    .select(receiptColumns)
    .where('id', '=', id)
    .executeTakeFirst()
  if (row === undefined) return null
  const [record = null] = await withChecks(db, [row])
  return record
}

async function withChecks(
  db: Db,
  records: readonly ReceiptRecord[],
): Promise<readonly ReceiptRecord[]> {
  const onchain = records.filter((record) => record.onchain !== 'none').map(({ id }) => id)
  if (onchain.length === 0) return records
  const rows = await db
    .selectFrom('receipt_checks')
    .select(['receipt_id as receiptId', ...foundColumns])
    .where('receipt_id', 'in', onchain)
    .execute()
  const checks = new Map(rows.map(({ receiptId, ...check }) => [receiptId, check]))
  return records.map((record) => {
    const check = checks.get(record.id)
    return check === undefined ? record : { ...record, check }
  })
}

/** Canonical JSON. Includes the signature as submitted, so that id and signature can be verified. */
export async function contentOfReceipt(db: Db, id: string): Promise<string> {
  const { content } = await db
    .selectFrom('receipts')
    .select('content')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return content
}

export interface ReceiptFilter {
  readonly rail?: string
  readonly wallet?: string
  readonly chain?: string
  readonly status?: string
  /** RFC 3339, exclusive. */
  readonly since?: string
}

export const receiptRows = (filter?: ReceiptFilter, full = false): RowList<ReceiptRecord> => ({
  name: 'receipts',
  read: async (db, page) => {
    const query = filtered(db, filter).select(receiptColumns)
    const rows = newestFirst(full ? query.select('content') : query, page)
    return await withChecks(db, await rows.execute())
  },
  count: (db) => countList(db, filtered(db, filter)),
})

function filtered(db: Db, filter: ReceiptFilter = {}) {
  const { rail, wallet, chain, status, since } = filter
  let query = db.selectFrom('receipts')
  if (wallet !== undefined) query = query.where('to_wallet', '=', wallet)
  for (const [column, value] of entriesOf({ rail, chain, verification: status })) {
    if (value === undefined) continue
    // An expression, so that no index is used for it: the index of the worker has far fewer rows.
    const compared = wallet === undefined ? sql.ref(column) : sql`${sql.ref(column)} || ''`
    query = query.where(sql<boolean>`${compared} = ${value}`)
  }
  if (since !== undefined) query = query.where(isLater('receipts', 'accepted_at', since))
  return query
}

export interface ReceiptTotals {
  readonly total: number
  readonly verified: number
  /** Those that are verified or have a transaction. */
  readonly provable: number
  readonly newestSeq: number
}

const noReceipts: ReceiptTotals = { total: 0, verified: 0, provable: 0, newestSeq: 0 }

/**
 * Updates earlier totals, reading only new receipts and those with a transaction that are not verified: others keep their
 * verification, and no receipt is removed.
 */
export async function receiptTotals(db: Db, before: ReceiptTotals | null): Promise<ReceiptTotals> {
  const counted = before ?? noReceipts
  // One statement reads one snapshot.
  const { rows } = await sql<Record<'added' | 'more' | 'newest' | 'unproven', number>>`
    select
      count(*) as added,
      count(*) filter (where onchain <> 'none' or verification = 'verified') as more,
      coalesce(max(seq), ${counted.newestSeq}) as newest,
      (select count(*) from receipts where onchain <> 'none' and verification <> 'verified') as unproven
    from receipts where seq > ${counted.newestSeq}
  `.execute(db)
  const { added = 0, more = 0, newest = 0, unproven = 0 } = rows[0] ?? {}
  const provable = counted.provable + more
  return {
    total: counted.total + added,
    verified: provable - unproven,
    provable,
    newestSeq: newest,
  }
}

const contentOf = (json: string) => receiptDetail.shape.content.parse(JSON.parse(json))

export function receiptView(record: Omit<ReceiptRecord, 'seq'>, siteUrl: string): Receipt {
  const { chain, txHash } = record
  const explorer = chain === null || txHash === null ? null : explorerUrl(chain, txHash)
  return {
    receipt_id: record.id,
    rail: record.rail,
    ...present({ chain, tx_hash: txHash, from_wallet: record.fromDisplay }),
    to_wallet: record.toDisplay,
    amount_usdc: toUsdc(record.amountMicroUsdc),
    ...(isAmountUnknown(record.kind, record.amountMicroUsdc)
      ? { unknown_figures: ['amount_usdc' as const] }
      : {}),
    asset_symbol: record.assetSymbol,
    occurred_at: record.occurredAt,
    ...present({
      summary: record.summary,
      job_id: record.jobId,
      evidence_url: record.evidenceUrl,
    }),
    kind: record.kind,
    ...present({ platform: record.platform, authority: record.authority }),
    verification: record.verification,
    ...present({ verification_reason: record.verificationReason }),
    onchain_verified: record.onchain === 'verified',
    ...present({ onchain: record.check && onchainView(record.check) }),
    accepted_at: record.acceptedAt,
    ...present({ explorer_url: explorer }),
    url: receiptUrl(siteUrl, record.id),
    ...(record.content === undefined ? {} : { content: contentOf(record.content) }),
  }
}

/** Payers and workers, for their names. */
export function walletsOf(
  records: readonly Pick<ReceiptRecord, 'fromWallet' | 'toWallet'>[],
): readonly (string | null)[] {
  return records.flatMap(({ fromWallet, toWallet }) => [fromWallet, toWallet])
}

export function onchainView(check: FoundOnchain): NonNullable<Receipt['onchain']> {
  return {
    verdict: check.verdict,
    ...present({
      reason: check.reason,
      block_number: check.blockNumber,
      block_hash: check.blockHash,
      block_at: check.blockAt,
      log_index: check.logIndex,
    }),
    since: check.verdictAt,
  }
}

export function receiptUrl(siteUrl: string, id: string): string {
  return `${siteUrl}${apiPrefix}/receipts/${id}`
}

export async function receiptDetailOf(
  db: Db,
  id: string,
  siteUrl: string,
): Promise<Omit<ReceiptDetail, 'log'> | null> {
  const record = await findReceipt(db, id)
  if (record === null) return null
  return {
    ...receiptView(record, siteUrl),
    content: contentOf(await contentOfReceipt(db, id)),
    rep_delta: await earnedBy(db, id),
    ...present({ onchain_checked_at: record.check?.checkedAt }),
  }
}
