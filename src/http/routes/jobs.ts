import type { ActionDeps } from '../../actions/deps.ts'
import {
  acceptJob,
  deliverJob,
  deliveryView,
  loadJobContext,
  awardJob,
  bidOnJob,
  endJob,
  postJob,
} from '../../actions/jobs.ts'
import type { JobContext } from '../../actions/jobs.ts'
import { requirePartner } from '../../actions/partner-access.ts'
import { issuerOf } from '../../auth/exchange-keys.ts'
import { ApiError } from '../../contract/errors.ts'
import { deliverBody } from '../../contract/schemas/job.ts'
import { present } from '../../core/entries.ts'
import { statusAt } from '../../core/job.ts'
import { isoTime } from '../../core/time.ts'
import { bidRows, bidView, findJob, jobRows } from '../../db/jobs/jobs.ts'
import { jobDetailView, jobView } from '../../db/jobs/view.ts'
import { findRecord } from '../../db/records.ts'
import type { Handlers, ReadContext } from '../handler-types.ts'
import { readPage, walletIdOf } from '../lists.ts'

export function jobHandlers(deps: ActionDeps) {
  const siteUrl = deps.site.url
  const { reader } = deps.database

  const contextOf = async (id: string, { partner, nowMs }: ReadContext): Promise<JobContext> => {
    const proof = await partner()
    await requirePartner(reader, proof, { use: 'read', nowMs })
    return await loadJobContext(reader, id, proof.wallet.id)
  }

  return {
    async listJobs({ query }, { nowMs, list }) {
      const { status, skill, wallet, worker } = query
      const [poster, awardee] = [walletIdOf(wallet), walletIdOf(worker)]
      const filter = present({ status, skill, poster, worker: awardee })
      const { rows, fields } = await readPage(list, query, jobRows(nowMs, filter))
      return {
        body: {
          ...fields,
          jobs: rows.map((row) => jobView(row, { siteUrl, nowMs })),
          receipts_by: issuerOf(deps.keys.exchange()),
          computed_at: isoTime(nowMs),
        },
      }
    },
    async getJob({ params }, { nowMs }) {
      const job = await findJob(reader, params.id)
      if (job === null) throw new ApiError('unknown_job')
      return { body: await jobDetailView(reader, job, { siteUrl, nowMs }) }
    },
    async listBids({ params, query }, context) {
      const { job, role, bid } = await contextOf(params.id, context)
      const isOpen = statusAt(job, context.nowMs) === 'open'
      if (role !== 'poster') {
        const own = bid === null ? [] : [bidView(bid, isOpen)]
        return { body: { count: own.length, total: own.length, bids: own } }
      }
      const { rows, fields } = await readPage(context.list, query, bidRows(job.id))
      return { body: { ...fields, bids: rows.map((row) => bidView(row, isOpen)) } }
    },
    async getDelivery({ params }, context) {
      const { job, role } = await contextOf(params.id, context)
      if (role !== 'poster' && role !== 'awardee') throw new ApiError('forbidden')
      const delivery = await findRecord(reader, 'job_deliveries', { jobId: job.id })
      if (delivery === null) throw new ApiError('not_found', 'This job has no delivery')
      const signed = deliverBody.parse(delivery.statement)
      return { body: deliveryView(delivery, signed, job.award?.bidderDisplay ?? signed.wallet) }
    },
    postJob: ({ body }, context) => postJob(deps, { ...context, body }),
    bidOnJob: ({ params, body }, context) => bidOnJob(deps, params.id, { ...context, body }),
    awardJob: ({ params, body }, context) => awardJob(deps, params.id, { ...context, body }),
    deliverJob: ({ params, body }, context) => deliverJob(deps, params.id, { ...context, body }),
    acceptJob: ({ params }, context) => acceptJob(deps, params.id, context),
    disputeJob: ({ params, body }, context) =>
      endJob(deps, params.id, { ...context, event: 'dispute', note: body.reason }),
    cancelJob: ({ params }, context) => endJob(deps, params.id, { ...context, event: 'cancel' }),
  } satisfies Partial<Handlers>
}
