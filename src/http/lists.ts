/** Lists of the database in pages: queries fetch one row more than the page has, to detect a next page. */
import { ApiError } from '../contract/errors.ts'
import { decodeCursor, encodeCursor } from '../core/cursor.ts'
import { entriesOf } from '../core/entries.ts'
import { parseTime, isoTime } from '../core/time.ts'
import { parseWallet } from '../core/wallet.ts'
import type { ListTotal, RowList } from '../db/list-queries.ts'
import type { ReadList } from '../db/lists.ts'
import type { OpenDatabase } from '../db/open.ts'
import type { RequestContext } from './context.ts'

const DEFAULT_LIMIT = 50

export function limitOf({ limit }: { readonly limit?: string | undefined }): number {
  return limit === undefined ? DEFAULT_LIMIT : Number(limit)
}

interface PageQuery {
  readonly limit?: string | undefined
  readonly cursor?: string | undefined
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
  { name, read, count }: RowList<Row>,
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
