import { ApiError } from '../contract/errors.ts'
import type { BidBody, JobBody } from '../contract/schemas/job.ts'
import { decide } from '../core/job.ts'
import { parseUsdc } from '../core/money.ts'
import { newId } from '../core/new-id.ts'
import { isoTime, parseTime } from '../core/time.ts'
import { bidView, putBid, awardBid } from '../db/jobs/bids.ts'
import { findJob, insertJob } from '../db/jobs/jobs.ts'
import { jobView } from '../db/jobs/view.ts'
import type { ActionDeps } from './deps.ts'
import type { OutcomeOf } from './idempotency.ts'
import { applyTransition, requireTransition, loadJobContext } from './job-write.ts'
import type { JobWrite } from './job-write.ts'
import { commitPartnerWrite } from './partner-write.ts'
import { invalidField } from './signed-body.ts'
import { enforceOpenBidLimit, enforceOpenJobLimit } from './write-quotas.ts'

export async function postJob(
  deps: ActionDeps,
  write: JobWrite<JobBody>,
): Promise<OutcomeOf<'postJob'>> {
  const { body, proof } = write
  const { nowMs } = write.request
  const deadlineMs = parseTime(body.deadline)
  if (deadlineMs === null) throw invalidField('deadline', 'must be an RFC 3339 time')
  const budgetMicroUsdc = requireUsdc(body.budget_usdc, 'budget_usdc')
  const id = newId(deps.random, 'job')
  return await commitPartnerWrite(deps, { ...write, action: 'postJob', locks: [] }, async (tx) => {
    // Decided inside the transaction, so that an exact repeat is answered even after the deadline.
    const decision = decide(
      { status: 'none', deadlineMs, deliveredMs: null },
      'post',
      'poster',
      nowMs,
    )
    if (!decision.ok) throw invalidField('deadline', decision.reason)
    await enforceOpenJobLimit(tx, proof.wallet.id, nowMs)
    await insertJob(tx, {
      id,
      poster: proof.wallet,
      title: body.title,
      description: body.description,
      skills: body.skills,
      budgetMicroUsdc,
      deadlineMs,
      now: isoTime(nowMs),
    })
    const job = await findJob(tx, id)
    if (job === null) throw new Error('job not found in its own transaction')
    return { status: 201, body: jobView(job, { siteUrl: deps.site.url, nowMs }) }
  })
}

/** Returns 201, or 200 if it replaces the bidder's earlier bid. */
export async function bidOnJob(
  deps: ActionDeps,
  jobId: string,
  write: JobWrite<BidBody>,
): Promise<OutcomeOf<'bidOnJob'>> {
  const { body, proof } = write
  const { nowMs } = write.request
  const terms = {
    priceMicroUsdc: requireUsdc(body.price_usdc, 'price_usdc'),
    etaHours: body.eta_hours,
    proposal: body.proposal,
  }
  const id = newId(deps.random, 'bid')
  const locked = { ...write, action: 'bidOnJob', locks: [jobId] }
  return await commitPartnerWrite(deps, locked, async (tx) => {
    const standing = await loadJobContext(tx, jobId, proof.wallet.id)
    requireTransition(standing, 'bid', nowMs)
    if (standing.bid === null) await enforceOpenBidLimit(tx, proof.wallet.id)
    const bid = await putBid(tx, { id, jobId, bidder: proof.wallet, terms, now: isoTime(nowMs) })
    const isNew = standing.bid === null
    await applyTransition(tx, standing, {
      event: 'bid',
      actor: proof.wallet.id,
      nowMs,
      changes: { bidsCount: standing.job.bidsCount + (isNew ? 1 : 0) },
    })
    return { status: isNew ? 201 : 200, body: bidView(bid, true) }
  })
}

/** Rejects all other bids. */
export async function awardJob(
  deps: ActionDeps,
  jobId: string,
  write: JobWrite<{ readonly bid_id: string }>,
): Promise<OutcomeOf<'awardJob'>> {
  const { body, proof } = write
  const { nowMs } = write.request
  const locked = { ...write, action: 'awardJob', locks: [jobId] }
  return await commitPartnerWrite(deps, locked, async (tx) => {
    const standing = await loadJobContext(tx, jobId, proof.wallet.id)
    requireTransition(standing, 'award', nowMs)
    const awarded = await awardBid(tx, jobId, body.bid_id, isoTime(nowMs))
    if (!awarded) throw new ApiError('refused', 'The job has no open bid with this id')
    const job = await applyTransition(tx, standing, {
      event: 'award',
      actor: proof.wallet.id,
      nowMs,
      changes: { awardedBid: body.bid_id },
    })
    return { status: 200, body: jobView(job, { siteUrl: deps.site.url, nowMs }) }
  })
}

export async function cancelJob(
  deps: ActionDeps,
  jobId: string,
  write: JobWrite<unknown>,
): Promise<OutcomeOf<'cancelJob'>> {
  return await endBy(deps, jobId, { ...write, action: 'cancelJob', event: 'cancel' })
}

export async function disputeJob(
  deps: ActionDeps,
  jobId: string,
  write: JobWrite<{ readonly reason: string }>,
): Promise<OutcomeOf<'disputeJob'>> {
  const { reason } = write.body
  return await endBy(deps, jobId, {
    ...write,
    action: 'disputeJob',
    event: 'dispute',
    note: reason,
  })
}

async function endBy(
  deps: ActionDeps,
  jobId: string,
  write: JobWrite<unknown> & {
    readonly action: 'cancelJob' | 'disputeJob'
    readonly event: 'cancel' | 'dispute'
    readonly note?: string
  },
): Promise<OutcomeOf<'cancelJob' | 'disputeJob'>> {
  const { proof, event, note } = write
  const { nowMs } = write.request
  return await commitPartnerWrite(deps, { ...write, locks: [jobId] }, async (tx) => {
    const standing = await loadJobContext(tx, jobId, proof.wallet.id)
    const actor = proof.wallet.id
    const move = { event, actor, nowMs, ...(note === undefined ? {} : { note }) }
    const job = await applyTransition(tx, standing, move)
    return { status: 200, body: jobView(job, { siteUrl: deps.site.url, nowMs }) }
  })
}

function requireUsdc(amount: number | string, path: string): number {
  const micro = parseUsdc(amount)
  if (micro === null) throw invalidField(path, 'is not an amount of USDC')
  return micro
}
