import type { JobDetail } from '../../contract/schemas/job.ts'
import { statusAt } from '../../core/job.ts'
import type { JobRole } from '../../core/job.ts'
import { isoTime } from '../../core/time.ts'
import type { Db } from '../schema.ts'
import { findDelivery } from './deliveries.ts'
import type { JobRecord } from './record.ts'
import { transitionsOfJob } from './transitions.ts'
import type { JobTransition } from './transitions.ts'
import { jobView } from './view.ts'

type Mover = JobDetail['history'][number]['by']

const movers = {
  poster: 'poster',
  awardee: 'worker',
  bidder: 'bidder',
  stranger: 'bidder',
  clock: 'time',
} as const satisfies Record<JobRole, Mover>

/** Includes an expiry that is not written yet. */
export async function jobDetailView(
  db: Db,
  record: JobRecord,
  at: { readonly siteUrl: string; readonly nowMs: number },
): Promise<JobDetail> {
  const [delivery, moves] = await Promise.all([
    findDelivery(db, record.id),
    transitionsOfJob(db, record.id),
  ])
  const dispute = moves.find(({ event }) => event === 'dispute')
  return {
    ...jobView(record, at),
    ...(delivery === null
      ? {}
      : {
          delivery: {
            id: delivery.id,
            content_sha256: delivery.contentSha256,
            created_at: delivery.createdAt,
          },
        }),
    ...(dispute === undefined
      ? {}
      : {
          dispute: {
            by: movers[dispute.role],
            reason: dispute.note ?? '',
            opened_at: dispute.now,
          },
        }),
    history: [...moves, ...unwrittenExpiry(record, at.nowMs)].map((move) =>
      historyEntry(move, record),
    ),
  }
}

function unwrittenExpiry(record: JobRecord, nowMs: number): readonly JobTransition[] {
  const status = statusAt(record, nowMs)
  if (status === record.status) return []
  const now = isoTime(record.deadlineMs)
  return [{ event: 'expire', role: 'clock', actor: null, status, note: null, now }]
}

function historyEntry(
  { event, role, status, now }: JobTransition,
  { deadlineMs }: JobRecord,
): JobDetail['history'][number] {
  return { event, by: movers[role], status, at: event === 'expire' ? isoTime(deadlineMs) : now }
}
