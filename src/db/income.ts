/** Income statements, and the months that wait for one. */
import { sql } from 'kysely'

import { sha256Hex } from '../auth/messages.ts'
import { microPerUsdc, toUsdc } from '../core/money.ts'
import type { IncomeStatement } from '../core/statement.ts'
import { monthEnd } from '../core/statement.ts'
import { insertRows } from './insert-rows.ts'
import { toJsonText } from './json.ts'
import { queueEntries } from './log.ts'
import { getMeta, setMeta } from './meta.ts'
import { insertRecord, selectRecords } from './records.ts'
import type { Db } from './schema.ts'

const notedAtOnce = 20_000

const notedKey = (name: string) => `statements_noted_${name}`

const month = sql`substr(occurred_at, 1, 7)`
const yearBefore = sql`(cast(substr(accepted_at, 1, 4) as integer) - 1) || substr(accepted_at, 5)`
/** A receipt that is older than a year or of a closed month belongs to the month in which it was accepted. */
const dueMonth = sql<string>`case when occurred_at < ${yearBefore} or exists (
  select 1 from statements where wallet = to_wallet and statements.month >= ${month}
) then substr(accepted_at, 1, 7) else ${month} end`

/** The bounds of the rows that are new since the last call: above `after`, and up to `last`. */
async function newRows(tx: Db, name: 'dispute_steps' | 'receipts' | 'reputation_ledger') {
  const key = notedKey(name)
  const after = Number((await getMeta(tx, key)) ?? 0)
  const rows = tx.selectFrom(name).select('seq').where('seq', '>', after).orderBy('seq')
  const last = (await rows.limit(notedAtOnce).execute()).at(-1)?.seq ?? after
  await setMeta(tx, key, String(last))
  return { after, last }
}

/**
 * Notes the months of new receipts. Also notes the month after the last statement of a wallet if a stated receipt got an
 * entry of the reputation ledger, as changes of the running total have, or a step of a dispute. Returns false if nothing
 * is new.
 */
export async function noteDueMonths(tx: Db): Promise<boolean> {
  const receipts = await newRows(tx, 'receipts')
  const entries = await newRows(tx, 'reputation_ledger')
  const steps = await newRows(tx, 'dispute_steps')
  await sql`
    insert into statements_due (wallet, month)
    select distinct to_wallet, ${dueMonth} from receipts where seq > ${receipts.after} and seq <= ${receipts.last}
    on conflict do nothing
  `.execute(tx)
  const { rows } = await sql<{ wallet: string; month: string }>`
    select s.wallet, max(s.month) as month from (
      select receipt_id as id from reputation_ledger where seq > ${entries.after} and seq <= ${entries.last}
      union select replace(replace(target, '{"receipt_id":"', ''), '"}', '')
      from dispute_steps p join disputes d on d.id = p.dispute_id where p.seq > ${steps.after} and p.seq <= ${steps.last}
    ) as changed join receipts r on r.id = changed.id
      join statements s on s.wallet = to_wallet and s.month >= ${month} and closed_at >= accepted_at
    group by s.wallet
  `.execute(tx)
  for (const { wallet, month: last } of rows) await putDue(tx, wallet, monthAfter(last))
  return [receipts, entries, steps].some(({ after, last }) => last > after)
}

const monthAfter = (month: string) => monthEnd(month).slice(0, 7)

async function putDue(tx: Db, wallet: string, month: string): Promise<void> {
  await insertRows(tx, 'statements_due', [{ wallet, month }], '(wallet, month) do nothing')
}

export const mostDueMonths = 10_000

/** Those before `month` of the wallets after `after`, oldest first for each wallet. */
export async function dueMonths(db: Db, month: string, after: string) {
  const due = selectRecords(db, 'statements_due').where('month', '<', month)
  const next = due.where('wallet', '>', after).orderBy('wallet').orderBy('month')
  return await next.limit(mostDueMonths).execute()
}

export type IncomeRecord = Awaited<ReturnType<typeof incomeRecords>>[number]

/** The receipts with `occurred_at` before a time, oldest first. */
export async function incomeRecords(db: Db, wallet: string, before: string) {
  return await db
    .selectFrom('receipts')
    .leftJoin('receipt_checks', 'receipt_checks.receipt_id', 'id')
    .leftJoin('reputation_reviews', 'reputation_reviews.receipt_id', 'id')
    .leftJoin('payers', 'payers.wallet', 'receipt_checks.payer')
    .select([
      ...(['id', 'kind', 'rail', 'receipts.chain', 'receipts.tx_hash', 'from_display'] as const),
      ...(['to_wallet', 'to_display', 'amount_micro_usdc', 'occurred_at', 'platform'] as const),
      ...(['verification', 'onchain', 'verdict', 'block_at', 'log_index', 'payer'] as const),
      ...(['accepted_at', 'stage'] as const),
      sql<string | null>`(
        select state from disputes where target = '{"receipt_id":"' || receipts.id || '"}' order by seq desc limit 1
      )`.as('dispute'),
      // 1: the reputation ledger has found payer and worker to be one party, by this receipt or another one.
      sql<number | null>`(
        select case when e.kind = 'receipt_reversed' or independence = 0 or exists (
          select 1 from payer_sums s where s.wallet = to_wallet and linked = 1
            and s.party in (receipt_checks.payer, payers.party)
        ) then 1 else 0 end
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

/** All columns but the wallet and the body. */
const facts = ['month', 'sha256', 'total_micro_usdc', 'running_micro_usdc', 'closed_at'] as const

function inUsdc<Row extends { total_micro_usdc: number; running_micro_usdc: number }>(row: Row) {
  const { total_micro_usdc: total, running_micro_usdc: running, ...rest } = row
  return { ...rest, total_usdc: toUsdc(total), running_total_usdc: toUsdc(running) }
}

/** Oldest first, without their bodies; and the months without a statement yet. */
export async function statementMonths(db: Db, wallet: string) {
  const closed = await db
    .selectFrom('statements')
    .select(facts)
    .where('wallet', '=', wallet)
    .orderBy('month')
    .execute()
  const noted = Number((await getMeta(db, notedKey('receipts'))) ?? 0)
  const open = await sql<{ month: string }>`
    select month from statements_due where wallet = ${wallet}
    union select ${dueMonth} from receipts where to_wallet = ${wallet} and seq > ${noted}
    order by month
  `.execute(db)
  return { closed: closed.map(inUsdc), open: open.rows.map(({ month }) => month) }
}

/** A page of the statements of all wallets, without their bodies. */
export async function listStatements(
  db: Db,
  { wallet, month }: { readonly wallet: string; readonly month: string },
  limit: number,
) {
  const rows = await db
    .selectFrom('statements')
    .select(['wallet', ...facts])
    .where(sql<boolean>`(wallet, month) > (${wallet}, ${month})`)
    .orderBy('wallet')
    .orderBy('month')
    .limit(limit)
    .execute()
  return rows.map(inUsdc)
}

export const statementEntryId = (wallet: string, month: string, sha256: string): string =>
  `${wallet}/${month} ${sha256}`

/** Stores a statement and queues its entry of the log. One that leaves receipts out makes the next month due. */
export async function putStatement(
  tx: Db,
  wallet: string,
  { body, isWhole }: { readonly body: IncomeStatement; readonly isWhole: boolean },
): Promise<void> {
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
  if (!isWhole) await putDue(tx, wallet, monthAfter(month))
}

export async function endDue(tx: Db, wallet: string, month: string): Promise<void> {
  const due = tx.deleteFrom('statements_due').where('wallet', '=', wallet)
  await due.where('month', '<=', month).execute()
}
