import { jsonDocument, snapshotFamily } from './document.ts'

export const jobDocuments = snapshotFamily(
  ['listJobs'],
  ['exchange'],
  function* ({ exchange: { jobs, total, next, receiptsBy } }) {
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
)
