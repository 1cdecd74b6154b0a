import { encodeCursor } from '../../src/core/cursor.ts'
import { countJobs, listJobs } from '../../src/db/jobs/jobs.ts'
import { jobView } from '../../src/db/jobs/view.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import type { World } from './world.ts'

/** Length of the published list; the API pages through the rest. */
const firstPage = 50

export async function gatherExchange(
  { reader }: OpenDatabase,
  at: {
    readonly siteUrl: string
    readonly nowMs: number
    readonly receiptsBy: World['exchange']['receiptsBy']
  },
): Promise<World['exchange']> {
  const { nowMs, receiptsBy } = at
  const [rows, total, open] = await Promise.all([
    listJobs(reader, { limit: firstPage + 1, before: null, nowMs }),
    countJobs(reader, nowMs),
    countJobs(reader, nowMs, { status: 'open' }),
  ])
  const last = rows[firstPage - 1]
  return {
    jobs: rows.slice(0, firstPage).map((row) => jobView(row, at)),
    total,
    open,
    next: rows.length > firstPage && last !== undefined ? encodeCursor('jobs', last.seq) : null,
    receiptsBy,
  }
}
