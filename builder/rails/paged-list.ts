import { displayAddress } from '../../src/outbound/http-address.ts'
import { SourceError } from '../../src/outbound/http.ts'
import type { HttpAnswer } from '../../src/outbound/http.ts'
import type { EvidencePointer, AdapterContext } from './adapter.ts'
import { countText, evidenceOf } from './answers.ts'

interface PagePosition {
  readonly index: number
  readonly offset: number
  readonly cursor: string | null
}

export interface ListPage<Item> {
  readonly items: readonly Item[]
  readonly total?: number | null | undefined
  /** Absent if only an empty page or the total shows that the list has ended. */
  readonly last?: boolean | undefined
  readonly cursor?: string | null
}

export interface PagedRequest<Item> {
  readonly url: (at: PagePosition) => string
  readonly parse: (answer: HttpAnswer, at: PagePosition) => ListPage<Item>
  readonly keyOf: (item: Item) => string
  readonly maxPages?: number
}

export type PagedList<Item> = Awaited<ReturnType<typeof readPages<Item>>>

const defaultMaxPages = 500
/** Fraction of the rows that may be missing, with a note, if the list changed while it was read. */
const toleratedDrift = 0.005

/** @throws SourceError if rows are missing or the source ignores paging */
export async function readPages<Item>(ctx: Pick<AdapterContext, 'http'>, read: PagedRequest<Item>) {
  const items = new Map<string, Item>()
  const evidence: EvidencePointer[] = []
  const totals: number[] = []
  let [rows, index, cursor, name]: [number, number, string | null, string] = [0, 0, null, '']
  for (let last = false; !last; index += 1) {
    if (index >= (read.maxPages ?? defaultMaxPages)) {
      throw new SourceError(`${name}: the list does not end after ${index} pages`)
    }
    const at = { index, offset: rows, cursor }
    const answer = await ctx.http.json(read.url(at))
    name = displayAddress(answer.url)
    const page = read.parse(answer, at)
    evidence.push(evidenceOf(answer, page.items.length))
    const known = items.size
    for (const item of page.items) {
      const key = read.keyOf(item)
      if (!items.has(key)) items.set(key, item)
    }
    rows += page.items.length
    if (typeof page.total === 'number') totals.push(page.total)
    const movedOn = new Set(totals).size > 1
    if (index > 0 && page.items.length > 0 && items.size === known && !movedOn) {
      throw new SourceError(`${name}: page ${index + 1} repeats earlier rows, paging is ignored`)
    }
    cursor = page.cursor ?? null
    const reached = typeof page.total === 'number' && rows >= page.total
    last = page.last ?? (page.items.length === 0 || reached)
  }
  return {
    items: [...items.values()],
    total: totals.at(-1) ?? null,
    repeated: rows - items.size,
    /** Note for the case that the list changed while it was read, otherwise null. */
    moved: checkComplete(name, rows, totals),
    evidence,
  }
}

function checkComplete(name: string, rows: number, totals: readonly number[]): string | null {
  const total = totals.at(-1)
  if (total === undefined) return null
  const [smallest, largest] = [Math.min(...totals), Math.max(...totals)]
  const moved = largest !== smallest
  if (moved && largest - smallest > largest * toleratedDrift) {
    throw new SourceError(
      `${name}: the total changed from ${countText(totals[0] ?? 0)} to ${countText(total)} while the list was read`,
    )
  }
  const missing = total - rows
  if (missing > 0 && !(moved && missing <= total * toleratedDrift)) {
    throw new SourceError(`${name}: received ${countText(rows)} of ${countText(total)} rows`)
  }
  return moved
    ? `The list changed while it was read: ${countText(rows)} rows of ${countText(total)} stated at the end.`
    : null
}
