import { firstPageDocument, snapshotFamily } from './document.ts'

export const jobDocuments = snapshotFamily(
  ['listJobs'],
  ['exchange'],
  function* ({ exchange: { jobs, total, next, receiptsBy } }) {
    yield firstPageDocument('listJobs', { jobs }, total, next, { receipts_by: receiptsBy })
  },
)
