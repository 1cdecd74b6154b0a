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

export interface RowPage<Row> {
  readonly rows: readonly Row[]
  readonly total: ListTotal
  readonly next: { readonly next_cursor?: string }
}

/** Reads of lists in turn with other networks, which end when the connection of the request closes. */
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
  name: string,
  query: PageQuery,
  read: (db: Db, page: PageRequest) => Promise<readonly Row[]>,
  count: (db: Db) => Promise<ListTotal>,
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
  return { rows, total, next: hasMore ? { next_cursor: encodeCursor(name, last.seq) } : {} }
}
