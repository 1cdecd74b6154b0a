/** Receipts as they were accepted, and what was found out about them since. */
import type { Kysely, Selectable } from 'kysely'

import { apiPrefix } from '../contract/route.ts'
import type { Receipt } from '../contract/schemas/receipt.ts'
import type { JsonObject } from '../core/canonical-json.ts'
import { explorerUrl } from '../core/chains.ts'
import { toUsdc } from '../core/money.ts'
import type { CheckVerdict } from '../core/onchain.ts'
import type { Wallet } from '../core/wallet.ts'
import { objectFromJsonText, toJsonText } from './json.ts'
import { sql } from './kysely.ts'
import type { Database } from './schema.ts'
import type { ReceiptsTable } from './tables/receipts.ts'

export type Verification = ReceiptsTable['verification']
export type OnchainState = ReceiptsTable['onchain']

export interface NewReceipt {
  readonly id: string
  readonly kind: 'platform' | 'signed'
  readonly rail: string
  readonly chain: string | null
  readonly txHash: string | null
  readonly from: Wallet | null
  readonly to: Wallet
  readonly amountMicroUsdc: number
  readonly assetSymbol: string
  /** RFC 3339. */
  readonly occurredAt: string
  readonly summary: string | null
  readonly jobId: string | null
  readonly evidenceUrl: string | null
  readonly platform: string | null
  readonly publicKey: string | null
  /** The id of the wallet that sent it in. */
  readonly submitter: string
  /** The receipt with its own signature. */
  readonly content: JsonObject
  readonly verification: Verification
  readonly verificationReason: string | null
  readonly onchain: OnchainState
  /** RFC 3339. */
  readonly acceptedAt: string
}

export interface ReceiptRecord extends Omit<NewReceipt, 'from' | 'to' | 'content'> {
  readonly seq: number
  readonly fromWallet: string | null
  readonly fromDisplay: string | null
  readonly toWallet: string
  readonly toDisplay: string
  /** Of its last check; absent before the first. */
  readonly check?: FoundOnchain
}

/** What a chain said of a receipt. Times are RFC 3339. */
export interface FoundOnchain {
  readonly verdict: CheckVerdict
  readonly reason: string | null
  readonly blockNumber: number | null
  readonly blockHash: string | null
  readonly blockAt: string | null
  readonly logIndex: number | null
  readonly verdictAt: string
  readonly checkedAt: string
}

/** A new receipt as it will be read back, but for its sequence number. */
export function recordOf({
  from,
  to,
  content: _content,
  ...receipt
}: NewReceipt): Omit<ReceiptRecord, 'seq'> {
  return {
    ...receipt,
    fromWallet: from?.id ?? null,
    fromDisplay: from?.display ?? null,
    toWallet: to.id,
    toDisplay: to.display,
  }
}

const columns = [
  'seq',
  'id',
  'kind',
  'rail',
  'chain',
  'tx_hash',
  'from_wallet',
  'from_display',
  'to_wallet',
  'to_display',
  'amount_micro_usdc',
  'asset_symbol',
  'occurred_at',
  'summary',
  'job_id',
  'evidence_url',
  'platform',
  'public_key',
  'submitter',
  'verification',
  'verification_reason',
  'onchain',
  'accepted_at',
] as const satisfies readonly (keyof ReceiptsTable)[]

type Row = Pick<Selectable<ReceiptsTable>, (typeof columns)[number]>

function toRecord(row: Row): ReceiptRecord {
  return {
    seq: row.seq,
    id: row.id,
    kind: row.kind,
    rail: row.rail,
    chain: row.chain,
    txHash: row.tx_hash,
    fromWallet: row.from_wallet,
    fromDisplay: row.from_display,
    toWallet: row.to_wallet,
    toDisplay: row.to_display,
    amountMicroUsdc: row.amount_micro_usdc,
    assetSymbol: row.asset_symbol,
    occurredAt: row.occurred_at,
    summary: row.summary,
    jobId: row.job_id,
    evidenceUrl: row.evidence_url,
    platform: row.platform,
    publicKey: row.public_key,
    submitter: row.submitter,
    verification: row.verification,
    verificationReason: row.verification_reason,
    onchain: row.onchain,
    acceptedAt: row.accepted_at,
  }
}

/** Stores a receipt unless its content is there already; answers whether it was new. */
export async function insertReceipt(db: Kysely<Database>, receipt: NewReceipt): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('receipts')
    .values(receiptRow(receipt))
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

export function receiptRow(receipt: NewReceipt) {
  return {
    id: receipt.id,
    kind: receipt.kind,
    rail: receipt.rail,
    chain: receipt.chain,
    tx_hash: receipt.txHash,
    from_wallet: receipt.from?.id ?? null,
    from_display: receipt.from?.display ?? null,
    to_wallet: receipt.to.id,
    to_display: receipt.to.display,
    amount_micro_usdc: receipt.amountMicroUsdc,
    asset_symbol: receipt.assetSymbol,
    occurred_at: receipt.occurredAt,
    summary: receipt.summary,
    job_id: receipt.jobId,
    evidence_url: receipt.evidenceUrl,
    platform: receipt.platform,
    public_key: receipt.publicKey,
    submitter: receipt.submitter,
    content: toJsonText(receipt.content),
    verification: receipt.verification,
    verification_reason: receipt.verificationReason,
    onchain: receipt.onchain,
    onchain_block: null,
    onchain_checked_at: null,
    accepted_at: receipt.acceptedAt,
  }
}

export async function findReceipt(db: Kysely<Database>, id: string): Promise<ReceiptRecord | null> {
  const row = await db
    .selectFrom('receipts')
    .select(columns)
    .where('id', '=', id)
    .executeTakeFirst()
  if (row === undefined) return null
  const [record = null] = await withChecks(db, [toRecord(row)])
  return record
}

/** The records with what their chains said. */
async function withChecks(
  db: Kysely<Database>,
  records: readonly ReceiptRecord[],
): Promise<readonly ReceiptRecord[]> {
  const asked = records.filter(({ onchain }) => onchain !== 'none').map(({ id }) => id)
  if (asked.length === 0) return records
  const rows = await db
    .selectFrom('receipt_checks')
    .selectAll()
    .where('receipt_id', 'in', asked)
    .execute()
  const checks = new Map(
    rows.map((row): [string, FoundOnchain] => [
      row.receipt_id,
      {
        verdict: row.verdict,
        reason: row.reason,
        blockNumber: row.block_number,
        blockHash: row.block_hash,
        blockAt: row.block_at,
        logIndex: row.log_index,
        verdictAt: row.verdict_at,
        checkedAt: row.checked_at,
      },
    ]),
  )
  return records.map((record) => {
    const check = checks.get(record.id)
    return check === undefined ? record : { ...record, check }
  })
}

/** The receipt with its own signature, as it was sent in: id and signature can be checked from it alone. */
export async function contentOfReceipt(db: Kysely<Database>, id: string): Promise<JsonObject> {
  const { content } = await db
    .selectFrom('receipts')
    .select('content')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return objectFromJsonText(content)
}

export interface ReceiptFilter {
  readonly rail?: string
  /** The id of the worker's wallet. */
  readonly wallet?: string
  readonly chain?: string
  readonly status?: string
  /** RFC 3339: accepted after it. */
  readonly since?: string
}

/** At most `limit` receipts, newest first, before the sequence number `before`. */
export async function listReceipts(
  db: Kysely<Database>,
  page: { readonly limit: number; readonly before: number | null; readonly filter?: ReceiptFilter },
): Promise<readonly ReceiptRecord[]> {
  let query = filtered(db, page.filter).select(columns)
  if (page.before !== null) query = query.where('seq', '<', page.before)
  const rows = await query.orderBy('seq', 'desc').limit(page.limit).execute()
  return await withChecks(db, rows.map(toRecord))
}

/** `receiptsSince(db, siteUrl)(since, limit)`: receipts accepted after a time as they are answered, newest first. */
export function receiptsSince(db: Kysely<Database>, siteUrl: string) {
  return async (since: string, limit: number): Promise<readonly Receipt[]> => {
    const records = await listReceipts(db, { limit, before: null, filter: { since } })
    return records.map((record) => receiptView(record, siteUrl))
  }
}

/** How many receipts there are, as of one that was counted: none is ever removed. */
export interface ReceiptTotals {
  readonly total: number
  readonly verified: number
  readonly newestSeq: number
}

/** The totals, counted on from earlier ones: reads what is new and what is not verified, never all. */
export async function receiptTotals(
  db: Kysely<Database>,
  before: ReceiptTotals | null,
): Promise<ReceiptTotals> {
  const countedSeq = before?.newestSeq ?? 0
  // One statement, one state of the database. Two ranges, so that the index gives them.
  const { rows } = await sql<{ added: number; newest: number; others: number }>`
    select
      (select count(*) from receipts where seq > ${countedSeq}) as added,
      (select coalesce(max(seq), 0) from receipts) as newest,
      (select count(*) from receipts where verification < 'verified') +
      (select count(*) from receipts where verification > 'verified') as others
  `.execute(db)
  const { added = 0, newest = 0, others = 0 } = rows[0] ?? {}
  const total = (before?.total ?? 0) + added
  return { total, verified: total - others, newestSeq: newest }
}

export async function countReceipts(db: Kysely<Database>, filter?: ReceiptFilter): Promise<number> {
  const { total } = await filtered(db, filter)
    .select(sql<number>`count(*)`.as('total'))
    .executeTakeFirstOrThrow()
  return total
}

function filtered(db: Kysely<Database>, filter: ReceiptFilter = {}) {
  const { rail, wallet, chain, status, since } = filter
  let query = db.selectFrom('receipts')
  if (rail !== undefined) query = query.where('rail', '=', rail)
  if (wallet !== undefined) query = query.where('to_wallet', '=', wallet)
  if (chain !== undefined) query = query.where('chain', '=', chain)
  if (status !== undefined) query = query.where(sql<string>`verification`, '=', status)
  if (since !== undefined) query = query.where('accepted_at', '>', since)
  return query
}

/** A receipt as it is answered. `siteUrl` has no slash at the end. */
export function receiptView(record: Omit<ReceiptRecord, 'seq'>, siteUrl: string): Receipt {
  const { chain, txHash } = record
  const explorer = chain === null || txHash === null ? null : explorerUrl(chain, txHash)
  return {
    receipt_id: record.id,
    rail: record.rail,
    ...present('chain', chain),
    ...present('tx_hash', txHash),
    ...present('from_wallet', record.fromDisplay),
    to_wallet: record.toDisplay,
    amount_usdc: toUsdc(record.amountMicroUsdc),
    asset_symbol: record.assetSymbol,
    occurred_at: record.occurredAt,
    ...present('summary', record.summary),
    ...present('job_id', record.jobId),
    ...present('evidence_url', record.evidenceUrl),
    kind: record.kind,
    ...present('platform', record.platform),
    verification: record.verification,
    ...present('verification_reason', record.verificationReason),
    onchain_verified: record.onchain === 'verified',
    ...(record.check === undefined ? {} : { onchain: onchainView(record.check) }),
    accepted_at: record.acceptedAt,
    ...present('explorer_url', explorer),
    url: receiptUrl(siteUrl, record.id),
  }
}

function onchainView(check: FoundOnchain): NonNullable<Receipt['onchain']> {
  const { blockNumber, logIndex } = check
  return {
    verdict: check.verdict,
    ...present('reason', check.reason),
    ...(blockNumber === null ? {} : { block_number: blockNumber }),
    ...present('block_hash', check.blockHash),
    ...present('block_at', check.blockAt),
    ...(logIndex === null ? {} : { log_index: logIndex }),
    since: check.verdictAt,
  }
}

export function receiptUrl(siteUrl: string, id: string): string {
  return `${siteUrl}${apiPrefix}/receipts/${id}`
}

function present<Name extends string>(
  name: Name,
  value: string | null,
): Partial<Record<Name, string>> {
  const found: Partial<Record<Name, string>> = {}
  if (value !== null) found[name] = value
  return found
}
