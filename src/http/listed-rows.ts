import { countDisputes, listDisputes } from '../db/disputes.ts'
import type { DisputeFilter, DisputeRecord } from '../db/disputes.ts'
import { countJobs, listJobs } from '../db/jobs/jobs.ts'
import type { JobFilter } from '../db/jobs/jobs.ts'
import type { JobRecord } from '../db/jobs/record.ts'
import { countReceipts, listReceipts } from '../db/receipts/receipts.ts'
import type { ReceiptFilter } from '../db/receipts/receipts.ts'
import type { ReceiptRecord } from '../db/receipts/record.ts'
import { countWorkers, listWorkers } from '../db/workers.ts'
import type { ListedWorker, WorkerFilter } from '../db/workers.ts'
import type { ListedRows } from './pages.ts'

export const receiptRows = (filter: ReceiptFilter): ListedRows<ReceiptRecord> => ({
  name: 'receipts',
  read: (db, page) => listReceipts(db, { ...page, filter }),
  count: (db) => countReceipts(db, filter),
})

export const workerRows = (filter: WorkerFilter): ListedRows<ListedWorker> => ({
  name: 'workers',
  read: (db, page) => listWorkers(db, { ...page, filter }),
  count: (db) => countWorkers(db, filter),
})

export const jobRows = (filter: JobFilter, nowMs: number): ListedRows<JobRecord> => ({
  name: 'jobs',
  read: (db, page) => listJobs(db, { ...page, nowMs, filter }),
  count: (db) => countJobs(db, nowMs, filter),
})

export const disputeRows = (filter: DisputeFilter): ListedRows<DisputeRecord> => ({
  name: 'disputes',
  read: (db, page) => listDisputes(db, { ...page, filter }),
  count: (db) => countDisputes(db, filter),
})
