/** Pagination: queries fetch one row more than the page has, to detect a next page. */
import { ApiError } from '../contract/errors.ts'
import { decodeCursor, encodeCursor } from '../core/cursor.ts'

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
  readonly total: number
  readonly next: { readonly next_cursor?: string }
}

/** Reads one page and the length of the whole list. @throws ApiError `bad_cursor` for a cursor of another list */
export async function readPage<Row extends { readonly seq: number }>(
  list: string,
  query: PageQuery,
  read: (page: PageRequest) => Promise<readonly Row[]>,
  count: () => Promise<number>,
): Promise<RowPage<Row>> {
  const { cursor } = query
  const before = cursor === undefined ? null : decodeCursor(list, cursor)
  if (cursor !== undefined && before === null) throw new ApiError('bad_cursor')
  const limit = limitOf(query)
  const [found, total] = await Promise.all([read({ limit: limit + 1, before }), count()])
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  const hasMore = found.length > limit && last !== undefined
  return { rows, total, next: hasMore ? { next_cursor: encodeCursor(list, last.seq) } : {} }
}
