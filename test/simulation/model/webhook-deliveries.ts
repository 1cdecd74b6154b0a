/** Required webhook deliveries and their allowed changes. */
import type { DeliveryOutcome } from '../receivers.ts'
import type { Event, WebhookDelivery, State, Subscription } from './state.ts'

const mostAttempts = 10
const leaseMs = 60_000

export function wants({ rails, afterSeq, isDisabled }: Subscription, event: Event): boolean {
  if (isDisabled || event.seq <= afterSeq) return false
  return rails === null || (event.rail !== null && rails.includes(event.rail))
}

/** Pairs of subscription and event that need a delivery, for the events of a range. */
export function newsBetween(
  { events, subscriptions }: Pick<State, 'events' | 'subscriptions'>,
  fromSeq: number,
  toSeq: number,
): readonly string[] {
  return events
    .filter(({ seq }) => seq > fromSeq && seq <= toSeq)
    .flatMap((event) =>
      [...subscriptions].flatMap(([id, one]) => (wants(one, event) ? [`${id} ${event.seq}`] : [])),
    )
}

/** Returns the problem of a change of a webhook delivery, or null. */
export function findInvalidDelivery(
  before: WebhookDelivery,
  after: WebhookDelivery,
  known: {
    /** Outcomes that its senders have seen. */
    readonly told: readonly DeliveryOutcome[]
    readonly sent: number
    readonly isEnded: boolean
    readonly othersUntilMs: number
  },
): string | null {
  const { told, sent, isEnded, othersUntilMs } = known
  if (before.status !== 'pending') return `it was ${before.status}`
  const isTried = after.attempts !== before.attempts
  if (after.fence > before.fence) {
    const nowMs = (after.leasedUntilMs ?? 0) - leaseMs
    // The result of an attempt and the next lease may share a commit.
    const isFree = isTried || before.leasedUntilMs === null || before.leasedUntilMs <= nowMs
    if (!isFree) return 'another has it'
    if (othersUntilMs > nowMs) return 'another of the same subscription is under way'
    if (!isTried) return null
  }
  if (!isTried) {
    return after.status === 'dead' && isEnded ? null : 'it changes without an attempt'
  }
  if (after.attempts !== before.attempts + 1 || after.attempts > sent) return 'it counts wrongly'
  if (after.status === 'delivered') {
    return told.includes('taken') ? null : 'nobody has said that it was taken'
  }
  if (after.status === 'pending') {
    if (!told.includes('failed')) return 'it is tried again, and had not failed'
    return after.attempts < mostAttempts ? null : 'it is tried too often'
  }
  if (told.includes('gone')) return isEnded ? null : 'whoever wants no more is still subscribed'
  return after.attempts === mostAttempts ? null : 'it is given up too soon'
}
