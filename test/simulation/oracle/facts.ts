/** Facts that the published rules derive from rows. */
import type { RowOf, Snapshot } from './snapshot.ts'

export const minuteMs = 60_000
export const hourMs = 3_600_000
export const dayMs = 86_400_000
/** An unanswered delivery counts as accepted, and an unpaid signup as cancelled, after this time. */
export const patienceMs = 14 * dayMs

export function iso(timeMs: number): string {
  return new Date(timeMs).toISOString()
}

export function countedEntries(
  db: Snapshot,
  wallet: string,
): readonly RowOf<'reputation_ledger'>[] {
  return db.reputation_ledger.filter(
    (row) => row.wallet === wallet && row.evidence * row.independence !== 0,
  )
}

/** No payer is checked here, so every entry is the first of its receipt. */
export function scoreOf(db: Snapshot, wallet: string, nowMs: number): number {
  const points = (isSolid: boolean) =>
    db.reputation_ledger
      .filter((row) => row.wallet === wallet && row.independence >= 4 === isSolid)
      .map((row) => {
        const ageDays = (nowMs - Date.parse(row.created_at)) / dayMs
        return (row.value_micro_points / 1e6) * Math.exp(-ageDays / 60)
      })
      .reduce((sum, term) => sum + term, 0)
  const solid = points(true)
  return solid + Math.min(points(false), solid + 50)
}

export function partnerOf(db: Snapshot, wallet: string): RowOf<'partners'> | undefined {
  return db.partners.find((row) => row.wallet === wallet)
}

/** An unpaid signup is cancelled even before the builder records it. */
export function subscriptionAt(
  { status, created_at: createdAt }: RowOf<'partners'>,
  nowMs: number,
): string {
  const isOver = nowMs >= Date.parse(createdAt) + patienceMs
  return status === 'pending' && isOver ? 'cancelled' : status
}

export function isActive(db: Snapshot, wallet: string, nowMs: number): boolean {
  const partner = partnerOf(db, wallet)
  return partner !== undefined && subscriptionAt(partner, nowMs) === 'active'
}

/** A job expires at its deadline even before the builder records it. */
export function jobStatusAt({ status, deadline }: RowOf<'jobs'>, nowMs: number): string {
  const isOver = nowMs >= Date.parse(deadline) && (status === 'open' || status === 'awarded')
  return isOver ? 'expired' : status
}

export function awardeeOf(db: Snapshot, job: RowOf<'jobs'>): string | undefined {
  return db.job_bids.find(({ id }) => id === job.awarded_bid)?.bidder
}

/** The time from which the poster's silence counts as acceptance; null unless the job waits for the poster. */
export function answerDueMs(db: Snapshot, job: RowOf<'jobs'>): number | null {
  if (job.status !== 'delivered') return null
  const delivery = db.job_deliveries.find((row) => row.job_id === job.id)
  return delivery === undefined ? null : Date.parse(delivery.created_at) + patienceMs
}

/** Ids of jobs whose time is over and whose end is not yet recorded. */
export function overdueJobs(db: Snapshot, nowMs: number): readonly string[] {
  return db.jobs
    .filter((job) => {
      const dueMs = answerDueMs(db, job)
      const isUnanswered = dueMs !== null && nowMs >= dueMs
      return isUnanswered || (job.status !== 'expired' && jobStatusAt(job, nowMs) === 'expired')
    })
    .map(({ id }) => id)
}

/** Equal within two units of the sixth decimal, or a millionth. */
export function isNear(a: number, b: number): boolean {
  return Math.abs(a - b) <= Math.max(2e-6, 1e-6 * Math.abs(a))
}
