import { apiPrefix } from '../../contract/route.ts'
import type { Job } from '../../contract/schemas/job.ts'
import { answerDueMs, statusAt } from '../../core/job.ts'
import { toUsdc } from '../../core/money.ts'
import { isoTime } from '../../core/time.ts'
import type { JobRecord } from './record.ts'

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
    ...(award === null
      ? {}
      : {
          awarded_bid: award.bidId,
          worker: award.bidderDisplay,
          price_usdc: toUsdc(award.priceMicroUsdc),
        }),
    ...(answerDue === null ? {} : { answer_due: isoTime(answerDue) }),
    ...(receiptId === null ? {} : { receipt_id: receiptId }),
    created_at: record.createdAt,
    updated_at: record.updatedAt,
    url: jobUrl(siteUrl, record.id),
  }
}

export function jobUrl(siteUrl: string, id: string): string {
  return `${siteUrl}${apiPrefix}/jobs/${id}`
}
