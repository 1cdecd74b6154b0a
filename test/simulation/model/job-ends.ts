/** The ends of jobs: lapsed bids, the receipt of the exchange, and timeouts. */
import { dayMs, statusAt } from './reading.ts'
import type { Job, State } from './state.ts'

export function lapsed(job: Job): Job['bids'] {
  return new Map(
    [...job.bids].map(([bidder, bid]) => [
      bidder,
      { ...bid, status: bid.status === 'open' ? 'lapsed' : bid.status },
    ]),
  )
}

/** Issues the receipt of the exchange and its entry without weight. */
export function issue(
  state: State,
  jobId: string,
  of: { readonly job: Job; readonly receiptId: string; readonly nowMs: number },
): void {
  const { job, receiptId: id, nowMs: atMs } = of
  const to = job.awardee ?? ''
  const amountMicro = job.bids.get(to)?.priceMicro ?? 0
  const facts = { id, to, from: job.poster, submitter: job.poster, platform: 'job-exchange' }
  state.receipts.set(id, { ...facts, kind: 'platform', amountMicro, atMs, jobId })
  const none = { rank: null, valueMicro: 0 }
  state.entries.push({ wallet: to, receiptId: id, payer: job.poster, amountMicro, atMs, ...none })
}

/** Applies a timeout that the builder recorded. Returns its problem, or null. */
export function moveByClock(
  state: State,
  move: { readonly job: string; readonly event: string; readonly receiptId: string | null },
  nowMs: number,
): string | null {
  const job = state.jobs.get(move.job)
  if (job === undefined) return 'there is no such job'
  if (move.event === 'expire') {
    if (statusAt(job, nowMs) !== 'expired' || job.status === 'expired') return 'it was not due'
    state.jobs.set(move.job, { ...job, status: 'expired', bids: lapsed(job) })
    state.moves.push([move.job, 'expire', 'clock', null, 'expired'])
    return null
  }
  if (job.status !== 'delivered' || nowMs < dueMsOf(job)) return 'the poster could still answer'
  const receiptId = move.receiptId ?? ''
  state.jobs.set(move.job, { ...job, status: 'accepted', deliveredMs: null, receiptId })
  state.moves.push([move.job, 'accept', 'clock', null, 'accepted'])
  issue(state, move.job, { job, receiptId, nowMs })
  return null
}

/** Jobs whose timeout is not yet recorded. */
export function overdue(state: State, nowMs: number): readonly string[] {
  return [...state.jobs].flatMap(([id, job]) => {
    const isSilent = job.status === 'delivered' && nowMs >= dueMsOf(job)
    const isOver = job.status !== 'expired' && statusAt(job, nowMs) === 'expired'
    return isSilent || isOver ? [id] : []
  })
}

/** The poster's silence counts as acceptance from this time on. */
function dueMsOf({ deliveredMs }: Job): number {
  return (deliveredMs ?? Infinity) + 14 * dayMs
}
