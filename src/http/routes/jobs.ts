/** The job exchange. */
import type { z } from 'zod'

import type { ActionDeps } from '../../actions/deps.ts'
import { acceptJob, deliverJob, deliveryView } from '../../actions/job-delivery.ts'
import { loadJobContext } from '../../actions/job-write.ts'
import type { JobWrite, JobContext } from '../../actions/job-write.ts'
import { awardJob, bidOnJob, cancelJob, disputeJob, postJob } from '../../actions/jobs.ts'
import { requirePartner } from '../../actions/partner-access.ts'
import { issuerOf } from '../../auth/exchange-keys.ts'
import { ApiError } from '../../contract/errors.ts'
import {
  awardBody,
  bidBody,
  deliverBody,
  disputeBody,
  emptyBody,
  jobBody,
} from '../../contract/schemas/job.ts'
import type { bidList, Delivery, JobList } from '../../contract/schemas/job.ts'
import { jobStatuses, statusAt } from '../../core/job.ts'
import { isoTime } from '../../core/time.ts'
import { parseWallet } from '../../core/wallet.ts'
import { bidView, countBids, listBids } from '../../db/jobs/bids.ts'
import { findDelivery } from '../../db/jobs/deliveries.ts'
import { jobDetailView } from '../../db/jobs/detail.ts'
import { countJobs, findJob, listJobs } from '../../db/jobs/jobs.ts'
import type { JobFilter } from '../../db/jobs/jobs.ts'
import { jobView } from '../../db/jobs/view.ts'
import type { ReadContext, WriteContext } from '../handler-context.ts'
import { read, write } from '../handlers.ts'
import { cutPage, pageOf } from '../pages.ts'
import { partnerWrite } from '../partner-write.ts'

const LIST = 'jobs'
const BIDS = 'bids'

export function jobHandlers(deps: ActionDeps) {
  return {
    listJobs: read(async (context) => ({ body: await jobPage(deps, context) })),
    getJob: read(async ({ params, nowMs }) => {
      const { database, siteUrl } = deps
      const job = await findJob(database.reader, idOf(params))
      if (job === null) throw new ApiError('unknown_job')
      return { body: await jobDetailView(database.reader, job, { siteUrl, nowMs }) }
    }),
    postJob: write(jobBody, async (sent) => await postJob(deps, await jobWrite(sent))),
    listBids: read(async (context) => ({ body: await bidPage(deps, context) })),
    getDelivery: read(async (context) => ({ body: await deliveryOf(deps, context) })),
    bidOnJob: write(
      bidBody,
      async (sent) => await bidOnJob(deps, idOf(sent.params), await jobWrite(sent)),
    ),
    awardJob: write(
      awardBody,
      async (sent) => await awardJob(deps, idOf(sent.params), await jobWrite(sent)),
    ),
    deliverJob: write(deliverBody, async (sent) => {
      const { json, params } = sent
      return await deliverJob(deps, idOf(params), { ...(await jobWrite(sent)), json })
    }),
    acceptJob: write(
      emptyBody,
      async (sent) => await acceptJob(deps, idOf(sent.params), await jobWrite(sent)),
    ),
    disputeJob: write(
      disputeBody,
      async (sent) => await disputeJob(deps, idOf(sent.params), await jobWrite(sent)),
    ),
    cancelJob: write(
      emptyBody,
      async (sent) => await cancelJob(deps, idOf(sent.params), await jobWrite(sent)),
    ),
  }
}

async function jobWrite<Body>(sent: WriteContext<Body>): Promise<JobWrite<Body>> {
  return { ...(await partnerWrite(sent)), body: sent.body }
}

/** The form was checked against the registry before the handler ran. */
function idOf(params: Readonly<Record<string, string>>): string {
  return params['id'] ?? ''
}

async function jobPage(deps: ActionDeps, { query, nowMs }: ReadContext): Promise<JobList> {
  const { siteUrl } = deps
  const { reader } = deps.database
  const { limit, before } = pageOf(LIST, query)
  const filter = filterOf(query)
  const [rows, total] = await Promise.all([
    listJobs(reader, { limit: limit + 1, before, nowMs, filter }),
    countJobs(reader, nowMs, filter),
  ])
  const page = cutPage(LIST, rows, limit)
  return {
    count: page.rows.length,
    total,
    jobs: page.rows.map((row) => jobView(row, { siteUrl, nowMs })),
    ...page.next,
    receipts_by: issuerOf(deps.exchangeKeys()),
    computed_at: isoTime(nowMs),
  }
}

function filterOf({ status, skill, wallet }: ReadContext['query']): JobFilter {
  const known = jobStatuses.find((candidate) => candidate === status)
  return {
    ...(known === undefined ? {} : { status: known }),
    ...(skill === undefined ? {} : { skill }),
    ...(wallet === undefined ? {} : { poster: parseWallet(wallet).id }),
  }
}

/** The caller as a partner, and who that is to the job. */
async function partyOf(
  { database: { reader } }: ActionDeps,
  { params, partner, nowMs }: ReadContext,
): Promise<JobContext> {
  const proof = await partner()
  await requirePartner(reader, proof, { use: 'read', nowMs })
  return await loadJobContext(reader, idOf(params), proof.wallet.id)
}

async function bidPage(deps: ActionDeps, context: ReadContext): Promise<z.infer<typeof bidList>> {
  const { reader } = deps.database
  const { job, role, bid } = await partyOf(deps, context)
  const isOpen = statusAt(job, context.nowMs) === 'open'
  if (role !== 'poster') {
    const own = bid === null ? [] : [bidView(bid, isOpen)]
    return { count: own.length, total: own.length, bids: own }
  }
  const { limit, before: after } = pageOf(BIDS, context.query)
  const rows = await listBids(reader, { jobId: job.id, limit: limit + 1, after })
  const page = cutPage(BIDS, rows, limit)
  return {
    count: page.rows.length,
    total: await countBids(reader, job.id),
    bids: page.rows.map((row) => bidView(row, isOpen)),
    ...page.next,
  }
}

async function deliveryOf(deps: ActionDeps, context: ReadContext): Promise<Delivery> {
  const { job, role } = await partyOf(deps, context)
  if (role !== 'poster' && role !== 'awardee') throw new ApiError('forbidden')
  const delivery = await findDelivery(deps.database.reader, job.id)
  if (delivery === null) throw new ApiError('not_found', 'Nothing was delivered on this job')
  const signed = deliverBody.parse(delivery.statement)
  return deliveryView(delivery, signed, job.award?.bidderDisplay ?? signed.wallet)
}
