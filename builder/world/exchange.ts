import { countOpenJobs, listJobs } from '../../src/db/jobs/jobs.ts'
import { jobView } from '../../src/db/jobs/view.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { countRows } from '../../src/db/records.ts'
import { firstPage, nextCursor } from './community.ts'
import type { World } from './world.ts'

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
    countRows(reader.selectFrom('jobs')),
    countOpenJobs(reader, nowMs),
  ])
  return {
    jobs: rows.slice(0, firstPage).map((row) => jobView(row, at)),
    total,
    open,
    next: nextCursor('jobs', rows),
    receiptsBy,
  }
}
