import { firstPage, snapshotFamily } from './document.ts'

export const jobDocuments = snapshotFamily(
  ['listJobs'],
  ['exchange'],
  function* ({ exchange: { jobs, total, next, receiptsBy } }) {
    yield firstPage('listJobs', { jobs }, total, next, { receipts_by: receiptsBy })
  },
)
