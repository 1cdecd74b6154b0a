import { openQuotas } from '../../core/limits.ts'
import { created, pageQuery, signedMessages, walletParameter } from '../answers.ts'
import { apiPrefix, json, notFound, parameter, routesOf } from '../route.ts'
import {
  awardBody,
  bid,
  bidBody,
  bidList,
  deliverBody,
  delivery,
  disputeBody,
  emptyBody,
  job,
  jobAccepted,
  jobBody,
  jobDetail,
  jobId,
  jobList,
  jobStatus,
} from '../schemas/job.ts'
import { skillSlug } from '../schemas/skill.ts'

const { document, live, handler } = routesOf('Jobs')

const id = parameter(jobId, 'The `id` of a job.', 'job_9f2c41d07a6be8053c1d2e4f')
const noJob = notFound('unknown_job')

export const jobRoutes = {
  listJobs: document(60, {
    path: `${apiPrefix}/jobs`,
    summary: 'List jobs',
    description:
      'Newest first. Without a query: the document of the newest 50. With a query: a live answer. A job is `expired` once its deadline has passed without a delivery. `receipts_by` names the key that signs the receipts of accepted jobs.',
    query: {
      ...pageQuery('jobs'),
      status: parameter(jobStatus, 'Only jobs in this state.', 'open'),
      skill: parameter(skillSlug, 'Only jobs that require this skill.', 'api-reference-writing'),
      wallet: walletParameter('Only jobs of this poster.'),
      worker: walletParameter('Only jobs that were awarded to this wallet.'),
    },
    answers: { 200: json('The jobs.', jobList) },
  }),
  getJob: live({
    path: `${apiPrefix}/jobs/{id}`,
    summary: 'Get a job',
    description:
      'Live data with the history of the job and the number of bids. Only the poster sees all proposals; a bidder sees their own. The hash of a delivery is public; its other fields are visible to the parties only.',
    params: { id },
    answers: { 200: json('The job.', jobDetail), 404: noJob },
  }),
  postJob: handler('POST', 'partner', {
    path: `${apiPrefix}/jobs`,
    summary: 'Post a job',
    description: `Requires an active partner, who may have ${openQuotas.jobs} open jobs at a time. Skills outside the taxonomy are accepted.`,
    body: jobBody,
    answers: created('The job is posted and open for bids.', job),
  }),
  listBids: handler('GET', 'partner', {
    path: `${apiPrefix}/jobs/{id}/bids`,
    summary: 'List bids on a job',
    description:
      'The poster sees all bids; a bidder sees only their own. Ordered by the time of the first version.',
    params: { id },
    query: pageQuery('bids'),
    answers: { 200: json('The bids.', bidList), 404: noJob },
  }),
  getDelivery: handler('GET', 'partner', {
    path: `${apiPrefix}/jobs/{id}/delivery`,
    summary: 'Get the delivery of a job',
    description: 'Visible to the poster and the awarded bidder. Includes the signed statement.',
    params: { id },
    answers: {
      200: json('The delivery.', delivery),
      404: notFound('unknown_job', 'The job does not exist or has no delivery yet.'),
    },
  }),
  bidOnJob: handler('POST', 'partner', {
    path: `${apiPrefix}/jobs/{id}/bid`,
    summary: 'Bid on a job',
    description: `Requires an active partner other than the poster, while the job is open. One bid per bidder: bidding again replaces the terms and returns 200. The price is at most the budget. A partner may have ${openQuotas.bids} open bids.`,
    params: { id },
    body: bidBody,
    answers: {
      200: json('The existing bid was replaced.', bid),
      201: json('Placed.', bid),
      404: noJob,
    },
  }),
  awardJob: handler('POST', 'partner', {
    path: `${apiPrefix}/jobs/{id}/award`,
    summary: 'Award a job to a bidder',
    description: 'Allowed for the poster only, while the job is open. All other bids are rejected.',
    params: { id },
    body: awardBody,
    answers: { 200: json('Awarded.', job), 404: noJob },
  }),
  deliverJob: handler('POST', 'partner', {
    path: `${apiPrefix}/jobs/{id}/deliver`,
    summary: 'Deliver the work',
    description: `Allowed for the awarded bidder only, before the deadline. In addition to the partner credentials, the body carries a signature of the same wallet over \`${signedMessages.deliver}\`. The address is validated but not fetched. The poster has 14 days to answer, until \`answer_due\`; after that, a delivery that was not disputed is accepted automatically.`,
    params: { id },
    signs: signedMessages.deliver,
    body: deliverBody,
    answers: {
      ...created('The work is delivered and awaits the answer of the poster.', delivery),
      404: noJob,
    },
  }),
  acceptJob: handler('POST', 'partner', {
    path: `${apiPrefix}/jobs/{id}/accept`,
    summary: 'Accept a delivery',
    description:
      'Allowed for the poster only, after a delivery or a dispute. The exchange issues a receipt for the agreed price, signed with the key of `receipts_by` in `GET /jobs`. The exchange moves no money, so this receipt proves work, not payment, and earns no reputation: `rep_delta` is 0 and `rep_reason` explains it. A payment verified on chain needs its own receipt.',
    params: { id },
    body: emptyBody,
    answers: { 200: json('Accepted.', jobAccepted), 404: noJob },
  }),
  disputeJob: handler('POST', 'partner', {
    path: `${apiPrefix}/jobs/{id}/dispute`,
    summary: 'Dispute a delivery',
    description:
      'Allowed for the poster and the awarded bidder only, within 14 days after the delivery and before it is accepted. The reason is public. A dispute ends when the poster accepts the delivery.',
    params: { id },
    body: disputeBody,
    answers: { 200: json('Disputed.', job), 404: noJob },
  }),
  cancelJob: handler('POST', 'partner', {
    path: `${apiPrefix}/jobs/{id}/cancel`,
    summary: 'Cancel a job',
    description: 'Allowed for the poster only, before a delivery.',
    params: { id },
    body: emptyBody,
    answers: { 200: json('Cancelled.', job), 404: noJob },
  }),
}
