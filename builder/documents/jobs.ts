import { jsonDocument } from './document.ts'
import type { SnapshotFamily } from './document.ts'

/** `/jobs`: the first page, and whose key signs the receipts of accepted jobs. */
export const jobDocuments: SnapshotFamily = {
  routes: ['listJobs'],
  *build({ exchange: { jobs, total, next, receiptsBy } }) {
    yield jsonDocument(
      'listJobs',
      {
        count: jobs.length,
        total,
        jobs,
        ...(next === null ? {} : { next_cursor: next }),
        receipts_by: receiptsBy,
      },
      { stamped: true },
    )
  },
}
