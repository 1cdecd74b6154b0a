/** Income statements, and the months that wait for one. */
import { sql } from 'kysely'

import { sha256Hex } from '../auth/messages.ts'
import { microPerUsdc, toUsdc } from '../core/money.ts'
import type { IncomeStatement } from '../core/statement.ts'
import { maxStatedReceipts, monthEnd } from '../core/statement.ts'
import { toJsonText } from './json.ts'
import { queueEntries } from './log.ts'
import { getMeta, setMeta } from './meta.ts'
import { deleteRecords, findRecord, insertRecord, selectRecords } from './records.ts'
import type { Db } from './schema.ts'

const notedKey = 'statements_noted'
const notedAtOnce = 20_000

/**
 * Notes the months of receipts that were accepted since the last call. A receipt of a closed month belongs to the month in
 * which it was accepted. Returns false if there are none.
 */
export async function noteDueMonths(tx: Db): Promise<boolean> {
  const after = Number((await getMeta(tx, notedKey)) ?? 0)
  const next = sql`select seq from receipts where seq > ${after} order by seq limit ${notedAtOnce}`
  const { rows } = await sql<{ last: number | null }>`
    select max(seq) as last from (${next}) as next
  `.execute(tx)
  const last = rows[0]?.last ?? null
  if (last === null) return false
  const month = sql`substr(occurred_at, 1, 7)`
  await sql`
    insert into statements_due (wallet, month)
    select distinct to_wallet, case when exists (
      select 1 from statements where wallet = to_wallet and statements.month >= ${month}
    ) then substr(accepted_at, 1, 7) else ${month} end
    from receipts where seq > ${after} and seq <= ${last}
    on conflict do nothing
  `.execute(tx)
  await setMeta(tx, notedKey, String(last))
  return true
}

/** Those before `month`, oldest first for each wallet. */
export async function dueMonths(db: Db, month: string) {
  const due = selectRecords(db, 'statements_due').where('month', '<', month)
  return await due.orderBy('wallet').orderBy('month').execute()
}

export type IncomeRecord = Awaited<ReturnType<typeof incomeRecords>>[number]

/** The receipts with `occurred_at` before a time, oldest first. */
export async function incomeRecords(db: Db, wallet: string, before: string) {
  return await db
    .selectFrom('receipts')
    .leftJoin('receipt_checks', 'receipt_id', 'id')
    .select([
      ...(['id', 'kind', 'rail', 'receipts.chain', 'receipts.tx_hash', 'from_display'] as const),
      ...(['to_wallet', 'to_display', 'amount_micro_usdc', 'occurred_at', 'platform'] as const),
      ...(['verification', 'onchain', 'verdict', 'block_at', 'log_index', 'payer'] as const),
      sql<string | null>`(
        select state from disputes where target = '{"receipt_id":"' || receipts.id || '"}' order by seq desc limit 1
      )`.as('dispute'),
      // 1: the reputation ledger has found payer and worker to be one party.
      sql<number | null>`(
        select case when e.kind = 'receipt_reversed' or independence = 0 then 1 else 0 end
        from reputation_ledger e where e.receipt_id = receipts.id order by seq desc limit 1
      )`.as('is_linked'),
    ])
    .where('to_wallet', '=', wallet)
    .where('occurred_at', '<', before)
    .orderBy('occurred_at')
    .orderBy('id')
    .execute()
}

/** Oldest first. */
export async function statementsOf(db: Db, wallet: string) {
  return await selectRecords(db, 'statements', { wallet }).orderBy('month').execute()
}

/** Oldest first, without their bodies; and the months without a statement yet. */
export async function statementMonths(db: Db, wallet: string) {
  const closed = await db
    .selectFrom('statements')
    .select(['month', 'sha256', 'total_micro_usdc', 'running_micro_usdc', 'closed_at'])
    .where('wallet', '=', wallet)
    .orderBy('month')
    .execute()
  const open = await selectRecords(db, 'statements_due', { wallet }).orderBy('month').execute()
  return {
    closed: closed.map(({ total_micro_usdc: total, running_micro_usdc: running, ...row }) => {
      return { ...row, total_usdc: toUsdc(total), running_total_usdc: toUsdc(running) }
    }),
    open: open.map(({ month }) => month),
  }
}

export async function findStatement(db: Db, wallet: string, month: string) {
  return await findRecord(db, 'statements', { wallet, month })
}

export const statementEntryId = (wallet: string, month: string, sha256: string): string =>
  `${wallet}/${month} ${sha256}`

/** Stores a statement and queues its entry of the log. A full one leaves the next month due. */
export async function putStatement(tx: Db, wallet: string, body: IncomeStatement): Promise<void> {
  const { month, closed_at: closedAt, total_usdc: total, running_total_usdc: running } = body
  const sha256 = sha256Hex(toJsonText(body))
  await insertRecord(tx, 'statements', {
    wallet,
    month,
    sha256,
    totalMicroUsdc: Math.round(total * microPerUsdc),
    runningMicroUsdc: Math.round(running * microPerUsdc),
    body,
    closedAt,
  })
  const id = statementEntryId(wallet, month, sha256)
  await queueEntries(tx, [{ kind: 'statement', id, sha256, subject: wallet }])
  await endDue(tx, wallet, month)
  if (body.receipts.length < maxStatedReceipts) return
  const next = { wallet, month: monthEnd(month).slice(0, 7) }
  await deleteRecords(tx, 'statements_due', next)
  await insertRecord(tx, 'statements_due', next)
}

export async function endDue(tx: Db, wallet: string, month: string): Promise<void> {
  const due = tx.deleteFrom('statements_due').where('wallet', '=', wallet)
  await due.where('month', '<=', month).execute()
}
