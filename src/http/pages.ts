/** Pagination: queries fetch one row more than `limit` to detect a next page. */
import { ApiError } from '../contract/errors.ts'
import { decodeCursor, encodeCursor } from '../core/cursor.ts'

const DEFAULT_LIMIT = 50

export interface PageRequest {
  readonly limit: number
  /** Sequence number; null for the first page. */
  readonly before: number | null
}

export function limitOf({ limit }: { readonly limit?: string | undefined }): number {
  return limit === undefined ? DEFAULT_LIMIT : Number(limit)
}

/** @throws ApiError `bad_cursor` for a cursor of another list */
export function pageOf(
  list: string,
  query: { readonly limit?: string | undefined; readonly cursor?: string | undefined },
): PageRequest {
  const { cursor } = query
  const before = cursor === undefined ? null : decodeCursor(list, cursor)
  if (cursor !== undefined && before === null) throw new ApiError('bad_cursor')
  return { limit: limitOf(query), before }
}

export function cutPage<Row extends { readonly seq: number }>(
  list: string,
  rows: readonly Row[],
  limit: number,
): { readonly rows: readonly Row[]; readonly next: { readonly next_cursor?: string } } {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return {
    rows: shown,
    next:
      rows.length > limit && last !== undefined
        ? { next_cursor: encodeCursor(list, last.seq) }
        : {},
  }
}
