import { bodySha256, messages } from '../auth/messages.ts'
import { ApiError } from '../contract/errors.ts'
import type { BidBody, JobBody, DeliverBody, JobDelivery } from '../contract/schemas/job.ts'
import type { JsonObject } from '../core/canonical-json.ts'
import { present } from '../core/entries.ts'
import { decide, noPaymentReason, roleOf } from '../core/job.ts'
import type { JobEvent, JobRole, JobStatus } from '../core/job.ts'
import { keptRows } from '../core/limits.ts'
import { toUsdc } from '../core/money.ts'
import { newId } from '../core/new-id.ts'
import { scoreAt } from '../core/reputation/standing.ts'
import { isoTime, parseTime } from '../core/time.ts'
import { writeAcceptance } from '../db/jobs/deadlines.ts'
import { bidView, putBid, awardBid, findJob, insertJob, transitionJob } from '../db/jobs/jobs.ts'
import type { BidRecord, JobRecord } from '../db/jobs/jobs.ts'
import { jobView } from '../db/jobs/view.ts'
import { contentOfReceipt, receiptUrl } from '../db/receipts/receipts.ts'
import { insertRecord, findRecord } from '../db/records.ts'
import { earnedBy, standingOf } from '../db/reputation.ts'
import type { RecordOf } from '../db/rows.ts'
import type { Db } from '../db/schema.ts'
import type { WalletAdmission } from '../limits/admission.ts'
import type { ActionDeps } from './deps.ts'
import type { OutcomeOf } from './idempotency.ts'
import { commitPartnerWrite } from './partner-write.ts'
import type { PartnerWrite } from './partner-write.ts'
import { receiptLogOf } from './receipt-log.ts'
import { invalidField, requireUsdc, verifySignedBody } from './signed-body.ts'
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
  const terms = { rows: keptRows.job + body.skills.length, locks: [] }
  return await commitPartnerWrite(deps, { ...write, ...terms }, async (tx) => {
    // Decided inside the transaction, so that an exact repeat is answered even after the deadline.
    const none = { status: 'none', deadlineMs, deliveredMs: null } as const
    const decision = decide(none, 'post', 'poster', nowMs)
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
  return await commitPartnerWrite(deps, { ...write, locks: [jobId] }, async (tx) => {
    const standing = await loadJobContext(tx, jobId, proof.wallet.id)
    requireTransition(standing, 'bid', nowMs)
    const { budgetMicroUsdc } = standing.job
    if (terms.priceMicroUsdc > budgetMicroUsdc) {
      throw invalidField(
        'price_usdc',
        `must be at most ${toUsdc(budgetMicroUsdc)}, the budget of the job`,
      )
    }
    if (standing.bid === null) await enforceOpenBidLimit(tx, proof.wallet.id)
    const bid = await putBid(tx, { id, jobId, bidder: proof.wallet, terms, now: isoTime(nowMs) })
    const isNew = standing.bid === null
    const changes = { bidsCount: standing.job.bidsCount + (isNew ? 1 : 0) }
    await applyTransition(tx, standing, { event: 'bid', nowMs, changes })
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
  return await commitPartnerWrite(deps, { ...write, locks: [jobId] }, async (tx) => {
    const standing = await loadJobContext(tx, jobId, proof.wallet.id)
    requireTransition(standing, 'award', nowMs)
    const awarded = await awardBid(tx, jobId, body.bid_id, isoTime(nowMs))
    if (awarded === null) throw new ApiError('refused', 'The job has no open bid with this id')
    const changes = { awardedBid: body.bid_id, worker: awarded }
    const job = await applyTransition(tx, standing, { event: 'award', nowMs, changes })
    return { status: 200, body: jobView(job, { siteUrl: deps.site.url, nowMs }) }
  })
}

export async function endJob(
  deps: ActionDeps,
  jobId: string,
  write: PartnerWrite & { readonly event: 'cancel' | 'dispute'; readonly note?: string },
): Promise<OutcomeOf<'cancelJob' | 'disputeJob'>> {
  const { event, note } = write
  const { nowMs } = write.request
  return await commitPartnerWrite(deps, { ...write, locks: [jobId] }, async (tx) => {
    const standing = await loadJobContext(tx, jobId, write.proof.wallet.id)
    const job = await applyTransition(tx, standing, { event, nowMs, note })
    return { status: 200, body: jobView(job, { siteUrl: deps.site.url, nowMs }) }
  })
}

/** One wallet must sign the credentials and the body. The URL is not fetched. */
export async function deliverJob(
  deps: ActionDeps,
  jobId: string,
  write: JobWrite<DeliverBody> & {
    readonly json: JsonObject
    readonly admission: WalletAdmission
  },
): Promise<OutcomeOf<'deliverJob'>> {
  const { body, json, proof, request } = write
  const signed = await verifySignedBody(deps, write, (service, from) =>
    messages.deliver(service, { ...from, jobId }),
  )
  const statement = { proof: signed, bodySha256: bodySha256(json) }
  const id = newId(deps.random, 'dlv')
  return await commitPartnerWrite(deps, { ...write, statement }, async (tx) => {
    if (signed.wallet.id !== proof.wallet.id) {
      throw new ApiError(
        'forbidden',
        'Delivery and request are signed by different wallets: sign both with the wallet of the bid',
      )
    }
    const standing = await loadJobContext(tx, jobId, proof.wallet.id)
    const { nowMs } = request
    await applyTransition(tx, standing, { event: 'deliver', nowMs })
    const delivery = {
      id,
      jobId,
      deliverer: proof.wallet.id,
      uri: body.uri,
      contentSha256: body.content_sha256,
      note: body.note ?? null,
      statement: json,
      createdAt: isoTime(nowMs),
    }
    await insertRecord(tx, 'job_deliveries', delivery)
    return { status: 201, body: deliveryView(delivery, body, proof.wallet.display) }
  })
}

export function deliveryView(
  record: Omit<RecordOf<'job_deliveries'>, 'seq'>,
  signed: Pick<DeliverBody, 'wallet' | 'timestamp' | 'signature'>,
  deliverer: string,
): JobDelivery {
  return {
    id: record.id,
    job_id: record.jobId,
    deliverer,
    uri: record.uri,
    content_sha256: record.contentSha256,
    ...present({ note: record.note }),
    wallet: signed.wallet,
    timestamp: signed.timestamp,
    signature: signed.signature,
    created_at: record.createdAt,
  }
}

/** Writes the job, the exchange's receipt and the reputation entry in one transaction. */
export async function acceptJob(
  deps: ActionDeps,
  jobId: string,
  write: PartnerWrite,
): Promise<OutcomeOf<'acceptJob'>> {
  const { nowMs } = write.request
  const siteUrl = deps.site.url
  const actor = write.proof.wallet.id
  const outcome = await commitPartnerWrite(deps, write, async (tx) => {
    const standing = await loadJobContext(tx, jobId, actor)
    requireTransition(standing, 'accept', nowMs)
    const { active: key } = deps.keys.exchange()
    const by = { role: 'poster', actor } as const
    const receipt = await writeAcceptance(tx, standing.job, { by, key, siteUrl, nowMs })
    const job = await findJob(tx, jobId)
    if (receipt === null || job === null)
      throw new ApiError('conflict', 'The job has changed: read it with GET, then decide again')
    const answer = {
      job: jobView(job, { siteUrl, nowMs }),
      receipt_id: receipt.id,
      receipt_url: receiptUrl(siteUrl, receipt.id),
      rep_delta: await earnedBy(tx, receipt.id),
      rep_reason: noPaymentReason,
      new_rep_score: scoreAt(await standingOf(tx, receipt.toWallet), nowMs),
    }
    return { status: 200, body: answer }
  })
  const { receipt_id: id, job } = outcome.body
  const content = await contentOfReceipt(deps.database.reader, id)
  const accepted = { id, content, acceptedAt: job.updated_at }
  const log = await receiptLogOf(deps.database.reader, deps.ledgerLog.signer, accepted)
  return { ...outcome, body: { ...outcome.body, log } }
}

export interface JobWrite<Body> extends PartnerWrite {
  readonly body: Body
}

export interface JobContext {
  readonly job: JobRecord
  /** The wallet of the caller. */
  readonly actor: string
  readonly role: Exclude<JobRole, 'clock'>
  readonly bid: BidRecord | null
}

export async function loadJobContext(db: Db, jobId: string, actor: string): Promise<JobContext> {
  const job = await findJob(db, jobId)
  if (job === null) throw new ApiError('unknown_job')
  const bid = await findRecord(db, 'job_bids', { jobId, bidder: actor })
  const awardee = job.award?.bidder ?? null
  const role = roleOf(actor, { poster: job.poster, awardee, hasBid: bid !== null })
  return { job, actor, role, bid }
}

function requireTransition({ job, role }: JobContext, event: JobEvent, nowMs: number): JobStatus {
  const decision = decide(job, event, role, nowMs)
  if (!decision.ok) throw new ApiError(decision.code, decision.reason)
  return decision.status
}

/** @throws ApiError with the refusal; `conflict` after a concurrent change of the job */
async function applyTransition(
  tx: Db,
  standing: JobContext,
  move: {
    readonly event: JobEvent
    readonly nowMs: number
    readonly note?: string | undefined
    readonly changes?: Parameters<typeof transitionJob>[3]
  },
): Promise<JobRecord> {
  const { job, actor, role } = standing
  const { event, nowMs, note = null, changes } = move
  const statusAfter = requireTransition(standing, event, nowMs)
  const transition = { event, role, actor, statusAfter, note, createdAt: isoTime(nowMs) }
  const moved = await transitionJob(tx, job, transition, changes)
  const after = await findJob(tx, job.id)
  if (!moved || after === null)
    throw new ApiError('conflict', 'The job has changed: read it with GET, then decide again')
  return after
}
