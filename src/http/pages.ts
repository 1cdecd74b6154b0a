/** Pagination: queries fetch one row more than the page has, to detect a next page. */
import { ApiError } from '../contract/errors.ts'
import { decodeCursor, encodeCursor } from '../core/cursor.ts'
import type { ListTotal } from '../db/list-queries.ts'
import type { ReadList } from '../db/lists.ts'
import type { OpenDatabase } from '../db/open.ts'
import type { Db } from '../db/schema.ts'
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
