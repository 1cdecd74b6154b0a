/** Lists of the database in pages: queries fetch one row more than the page has, to detect a next page. */
import { ApiError } from '../contract/errors.ts'
import { decodeCursor, encodeCursor } from '../core/cursor.ts'
import { entriesOf } from '../core/entries.ts'
import { parseTime, isoTime } from '../core/time.ts'
import { parseWallet } from '../core/wallet.ts'
import type { DisputeFilter, DisputeRecord } from '../db/disputes.ts'
import { countDisputes, listDisputes } from '../db/disputes.ts'
import type { JobFilter, JobRecord } from '../db/jobs/jobs.ts'
import { countJobs, listJobs } from '../db/jobs/jobs.ts'
import type { ListTotal } from '../db/list-queries.ts'
import type { ReadList } from '../db/lists.ts'
import type { OpenDatabase } from '../db/open.ts'
import type { ReceiptFilter } from '../db/receipts/receipts.ts'
import { countReceipts, listReceipts } from '../db/receipts/receipts.ts'
import type { ReceiptRecord } from '../db/receipts/record.ts'
import type { Db } from '../db/schema.ts'
import type { ListedWorker, WorkerFilter } from '../db/workers.ts'
import { countWorkers, listWorkers } from '../db/workers.ts'
import type { RequestContext } from './context.ts'

const DEFAULT_LIMIT = 50

interface PageRequest {
  readonly limit: number
  readonly before: number | null
}

export function limitOf({ limit }: { readonly limit?: string | undefined }): number {
  return limit === undefined ? DEFAULT_LIMIT : Number(limit)
}

interface PageQuery {
  readonly limit?: string | undefined
  readonly cursor?: string | undefined
}

/** A list of the database, from which pages are read. */
export interface ListedRows<Row> {
  /** A cursor is valid for the list of this name only. */
  readonly name: string
  readonly read: (db: Db, page: PageRequest) => Promise<readonly Row[]>
  readonly count: (db: Db) => Promise<ListTotal>
}

export interface RowPage<Row> {
  readonly rows: readonly Row[]
  /** Fields in the answer for every page of a list. */
  readonly fields: ListTotal & { readonly count: number; readonly next_cursor?: string }
}

/** Reads of lists that alternate with other networks and end when the connection of the request closes. */
export function listWhileOpen(
  { list }: Pick<OpenDatabase, 'list'>,
  { incoming: { socket }, admission: { network } }: Pick<RequestContext, 'incoming' | 'admission'>,
): ReadList {
  return async (read) => {
    const gone = new AbortController()
    const abort = (): void => gone.abort()
    socket.once('close', abort)
    try {
      return await list(read, { gone: gone.signal, network })
    } finally {
      socket.off('close', abort)
    }
  }
}

/** Reads one page and the length of the whole list. @throws ApiError `bad_cursor` for a cursor of another list */
export async function readPage<Row extends { readonly seq: number }>(
  list: ReadList,
  query: PageQuery,
  { name, read, count }: ListedRows<Row>,
): Promise<RowPage<Row>> {
  const { cursor } = query
  const before = cursor === undefined ? null : decodeCursor(name, cursor)
  if (cursor !== undefined && before === null) throw new ApiError('bad_cursor')
  const limit = limitOf(query)
  const [found, total] = await list((db) =>
    Promise.all([read(db, { limit: limit + 1, before }), count(db)]),
  )
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  const hasMore = found.length > limit && last !== undefined
  const next = hasMore ? { next_cursor: encodeCursor(name, last.seq) } : {}
  return { rows, fields: { count: rows.length, ...total, ...next } }
}

export const receiptRows = (filter: ReceiptFilter): ListedRows<ReceiptRecord> => ({
  name: 'receipts',
  read: (db, page) => listReceipts(db, { ...page, filter }),
  count: (db) => countReceipts(db, filter),
})

export const workerRows = (filter: WorkerFilter): ListedRows<ListedWorker> => ({
  name: 'workers',
  read: (db, page) => listWorkers(db, { ...page, filter }),
  count: (db) => countWorkers(db, filter),
})

export const jobRows = (filter: JobFilter, nowMs: number): ListedRows<JobRecord> => ({
  name: 'jobs',
  read: (db, page) => listJobs(db, { ...page, nowMs, filter }),
  count: (db) => countJobs(db, nowMs, filter),
})

export const disputeRows = (filter: DisputeFilter): ListedRows<DisputeRecord> => ({
  name: 'disputes',
  read: (db, page) => listDisputes(db, { ...page, filter }),
  count: (db) => countDisputes(db, filter),
})

export function walletIdOf(wallet: string | undefined): string | undefined {
  return wallet === undefined ? undefined : parseWallet(wallet).id
}

/** Normalizes an RFC 3339 time to the stored form. */
export function sinceOf(since: string | undefined): string | undefined {
  return since === undefined ? undefined : isoTime(parseTime(since) ?? 0)
}

/** Returns true for an entry that has the given values in its fields of the same names. */
export function hasValues<Entry extends object>(query: {
  readonly [Name in keyof Entry]?: unknown
}) {
  const wanted = entriesOf(query).filter(([, value]) => value !== undefined)
  return (entry: Entry): boolean =>
    wanted.every(([name, value]) => Reflect.get(entry, name) === value)
}
