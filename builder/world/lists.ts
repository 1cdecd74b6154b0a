/** The first pages of published lists; the API returns further pages. */
import type { JobIssuer } from '../../src/contract/schemas/job.ts'
import { encodeCursor } from '../../src/core/cursor.ts'
import { disputeViews, disputeRows } from '../../src/db/disputes.ts'
import { countOpenJobs, jobRows } from '../../src/db/jobs/jobs.ts'
import { jobView } from '../../src/db/jobs/view.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { countRows } from '../../src/db/records.ts'

/** Number of entries in a published list. */
export const firstPage = 50
/** More than the list shows, for the pages of the disputed data. Those of subjects and upheld ones are the first ones. */
const gatheredDisputes = 500

export type Exchange = Awaited<ReturnType<typeof gatherExchange>>
export type Disputes = Awaited<ReturnType<typeof gatherDisputes>>

/** Returns null if the first page contains all rows. */
export function nextCursor(list: string, rows: readonly { readonly seq: number }[]): string | null {
  const last = rows[firstPage - 1]
  return rows.length > firstPage && last !== undefined ? encodeCursor(list, last.seq) : null
}

/** The newest jobs; the totals count all jobs. */
export async function gatherExchange(
  { reader }: OpenDatabase,
  at: { readonly siteUrl: string; readonly nowMs: number; readonly receiptsBy: JobIssuer },
) {
  const { nowMs, receiptsBy } = at
  const [rows, total, open] = await Promise.all([
    jobRows(nowMs).read(reader, { limit: firstPage + 1, before: null }),
    countRows(reader.selectFrom('jobs')),
    countOpenJobs(reader, nowMs),
  ])
  const jobs = rows.slice(0, firstPage).map((row) => jobView(row, at))
  return { jobs, total, open, next: nextCursor('jobs', rows), receiptsBy }
}

/** Those of subjects and upheld ones first; the total counts all disputes. */
export async function gatherDisputes({ reader }: OpenDatabase, nowMs: number) {
  const records = await disputeRows().read(reader, { limit: gatheredDisputes, before: null })
  return {
    newest: await disputeViews(reader, records, nowMs),
    total: await countRows(reader.selectFrom('disputes')),
    next: nextCursor('disputes', records),
  }
}
