import { sql } from 'kysely'

import type { Worker } from '../contract/schemas/worker.ts'
import { present } from '../core/entries.ts'
import type { Wallet } from '../core/wallet.ts'
import { countList, isLater, newestFirst } from './list-queries.ts'
import type { RowList } from './list-queries.ts'
import { lookAlikes } from './names.ts'
import { deleteRecords, findRecord, selectRecords } from './records.ts'
import { toRow } from './rows.ts'
import type { RecordOf } from './rows.ts'
import type { Db } from './schema.ts'

export interface ListedWorker {
  readonly seq: number
  readonly worker: Worker
}

type Row = RecordOf<'workers'>

function toWorker(row: Row): Worker {
  return {
    wallet: row.display,
    ...present({ display_name: row.displayName }),
    skills: [...row.skills],
    ...present({ url: row.url, bio: row.bio, receipt_key: row.receiptKey }),
    ...present({ erc8004: agentOf(row) }),
    registered_at: row.registeredAt,
    updated_at: row.updatedAt,
  }
}

function agentOf({ wallet, agent: id, agentWallet, agentCheckedAt }: Row): Worker['erc8004'] {
  if (id === null) return undefined
  if (agentWallet === null) return { id, state: 'not_checked' }
  const named = /^0x0+$/.test(agentWallet) ? 'no_wallet' : 'other_wallet'
  const state = agentWallet === wallet ? 'confirmed' : named
  return { id, state, ...present({ checked_at: agentCheckedAt }) }
}

/** Those of a chain that were not checked since `before`, the unchecked ones first. */
export async function agentsToCheck(db: Db, prefix: string, before: string, limit: number) {
  const rows = await db
    .selectFrom('workers')
    .select(['wallet', 'agent'])
    .where('agent', 'like', `${prefix}%`)
    .where(sql<string>`coalesce(agent_checked_at, '')`, '<=', before)
    .orderBy(sql`coalesce(agent_checked_at, '')`)
    .limit(limit)
    .execute()
  return rows.map(({ wallet, agent }) => ({ wallet, agent: agent ?? '' }))
}

/** Those that were last checked before a time are not checked. */
export async function forgetAgents(tx: Db, before: string): Promise<void> {
  const known = tx.updateTable('workers').set({ agent_wallet: null })
  await known.where('agent_wallet', 'is not', null).where('agent_checked_at', '<', before).execute()
}

export interface WorkerInput extends Pick<
  Row,
  'displayName' | 'skills' | 'url' | 'bio' | 'receiptKey' | 'agent'
> {
  readonly wallet: Wallet
  readonly now: string
}

/** Keeps the time of registration; the agent is checked again. */
export async function putWorker(db: Db, input: WorkerInput): Promise<void> {
  const { wallet, now, ...facts } = input
  const changes = { ...facts, agentWallet: null, agentCheckedAt: null, updatedAt: now }
  const record = { wallet: wallet.id, display: wallet.display, registeredAt: now, ...changes }
  const { seq: workerSeq } = await db
    .insertInto('workers')
    .values(toRow<'workers'>(record))
    .onConflict((conflict) => conflict.column('wallet').doUpdateSet(toRow(changes)))
    .returning('seq')
    .executeTakeFirstOrThrow()
  await deleteRecords(db, 'worker_skills', { workerSeq })
  const rows = input.skills.map((skill) => ({ skill, worker_seq: workerSeq }))
  await db.insertInto('worker_skills').values(rows).execute()
}

export async function findWorker(db: Db, walletId: string): Promise<Worker | null> {
  const row = await findRecord(db, 'workers', { wallet: walletId })
  if (row === null) return null
  const [marked] = await withMarks(db, [row])
  return marked?.worker ?? null
}

/** Marks names that resemble earlier ones. */
async function withMarks(db: Db, rows: readonly Row[]): Promise<ListedWorker[]> {
  const wallets = rows.map(({ wallet }) => wallet)
  const marked = await lookAlikes(db, 'worker', wallets)
  return rows.map((row) => {
    const worker = toWorker(row)
    return {
      seq: row.seq,
      worker: marked.has(row.wallet) ? { ...worker, looks_like_another: true } : worker,
    }
  })
}

export interface WorkerFilter {
  readonly skill?: string
  readonly wallet?: string
  /** RFC 3339, exclusive. */
  readonly since?: string
}

export const workerRows = (filter?: WorkerFilter): RowList<ListedWorker> => ({
  name: 'workers',
  read: async (db, page) => {
    const rows = newestFirst(filtered(db, filter), page, orderOf(filter))
    return await withMarks(db, await rows.execute())
  },
  count: (db) => countList(db, filtered(db, filter)),
})

/** The workers of a skill are read in the order of `worker_skills`. */
const orderOf = ({ skill }: WorkerFilter = {}) => (skill === undefined ? 'seq' : 'worker_seq')

function filtered(db: Db, filter: WorkerFilter = {}) {
  const { skill, wallet, since } = filter
  let query = selectRecords(db, 'workers')
  if (wallet !== undefined) query = query.where('wallet', '=', wallet)
  if (since !== undefined) {
    query = query.where(isLater('workers', 'registered_at', since, orderOf(filter)))
  }
  if (skill !== undefined) {
    query = query.$if(true, (workers) =>
      workers
        .innerJoin('worker_skills', 'worker_skills.worker_seq', 'workers.seq')
        .where('skill', '=', skill),
    )
  }
  return query
}
