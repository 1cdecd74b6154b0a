import { apiPrefix } from '../../contract/route.ts'
import type { Job, JobDetail } from '../../contract/schemas/job.ts'
import { present } from '../../core/entries.ts'
import { answerDueMs, statusAt } from '../../core/job.ts'
import type { JobRole } from '../../core/job.ts'
import { toUsdc } from '../../core/money.ts'
import { isoTime } from '../../core/time.ts'
import { findRecord, selectRecords } from '../records.ts'
import type { Db } from '../schema.ts'
import type { JobRecord, JobTransition } from './jobs.ts'

export function jobView(
  record: JobRecord,
  { siteUrl, nowMs }: { readonly siteUrl: string; readonly nowMs: number },
): Job {
  const { award, receiptId } = record
  const answerDue = answerDueMs(record)
  return {
    id: record.id,
    poster: record.posterDisplay,
    title: record.title,
    description: record.description,
    skills: [...record.skills],
    budget_usdc: toUsdc(record.budgetMicroUsdc),
    deadline: isoTime(record.deadlineMs),
    status: statusAt(record, nowMs),
    bids_count: record.bidsCount,
    ...present({
      awarded_bid: award?.bidId,
      worker: award?.bidderDisplay,
      price_usdc: award && toUsdc(award.priceMicroUsdc),
      answer_due: answerDue === null ? null : isoTime(answerDue),
      receipt_id: receiptId,
      texts_sha256: record.textsSha256,
      texts_removed_at: record.textsRemovedAt,
    }),
    created_at: record.createdAt,
    updated_at: record.updatedAt,
    url: jobUrl(siteUrl, record.id),
  }
}

export function jobUrl(siteUrl: string, id: string): string {
  return `${siteUrl}${apiPrefix}/jobs/${id}`
}

type Mover = JobDetail['history'][number]['by']

const movers = {
  poster: 'poster',
  awardee: 'worker',
  bidder: 'bidder',
  stranger: 'bidder',
  clock: 'time',
} as const satisfies Record<JobRole, Mover>

/** Shows a passed deadline even if the new status is not written yet. */
export async function jobDetailView(
  db: Db,
  record: JobRecord,
  at: { readonly siteUrl: string; readonly nowMs: number },
): Promise<JobDetail> {
  const [delivery, moves] = await Promise.all([
    findRecord(db, 'job_deliveries', { jobId: record.id }),
    selectRecords(db, 'job_transitions', { jobId: record.id })
      .where('event', '<>', 'bid')
      .orderBy('seq')
      .execute(),
  ])
  const dispute = moves.find(({ event }) => event === 'dispute')
  return {
    ...jobView(record, at),
    ...present({
      delivery: delivery && {
        id: delivery.id,
        content_sha256: delivery.contentSha256,
        created_at: delivery.createdAt,
      },
      dispute: dispute && {
        by: movers[dispute.role],
        reason: dispute.note ?? '',
        opened_at: dispute.createdAt,
      },
    }),
    history: [...moves, ...unwrittenExpiry(record, at.nowMs)].map((move) =>
      historyEntry(move, record),
    ),
  }
}

function unwrittenExpiry(record: JobRecord, nowMs: number): readonly JobTransition[] {
  const statusAfter = statusAt(record, nowMs)
  if (statusAfter === record.status) return []
  const createdAt = isoTime(record.deadlineMs)
  return [{ event: 'expire', role: 'clock', statusAfter, createdAt }]
}

function historyEntry(
  { event, role, statusAfter: status, createdAt }: JobTransition,
  { deadlineMs }: JobRecord,
): JobDetail['history'][number] {
  const at = event === 'expire' ? isoTime(deadlineMs) : createdAt
  return { event, by: movers[role], status, at }
}
