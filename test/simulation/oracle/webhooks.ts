/** Checks webhooks: rows of the outbox, requests that leave, requests that arrive. */
import { webhookSecret } from '../../../src/outbound/standard-webhook.ts'
import type { Run } from '../run.ts'
import { minuteMs } from './facts.ts'
import type { Change, RowOf, Snapshot } from './snapshot.ts'

export type DeliveryOutcome = 'accepted' | 'failed' | 'gone'

export interface WebhookRequest {
  readonly id: string
  readonly url: string
  readonly body: { readonly type: string; readonly data: Readonly<Record<string, unknown>> }
  readonly isSignedWith: (secret: string) => boolean
  readonly timestamp: number
}

type Delivery = RowOf<'alert_deliveries'>

interface Lease {
  readonly delivery: Delivery
  readonly url: string
}

const attemptLimit = 10
const leaseMs = minuteMs
const failingAllowedMs = 3 * 24 * 60 * minuteMs

export type WebhooksOracle = ReturnType<typeof createWebhooksOracle>

export function createWebhooksOracle(
  { machine, installation, fail, log, tally }: Run,
  current: () => Snapshot,
) {
  /** Each lease allows one request. */
  const leased = new Map<string, Lease>()
  const underWay = new Map<string, Lease>()
  const attempts = new Map<string, number>()
  const outcomes = new Map<string, readonly DeliveryOutcome[]>()

  const outcomesOf = (id: string): readonly DeliveryOutcome[] => outcomes.get(id) ?? []

  function findInvalid(before: Delivery, after: Delivery, db: Snapshot): string | null {
    const { id, subscription_id: subscription } = after
    if (before.status !== 'pending') return `it was ${before.status}`
    const isAttempted = after.attempts !== before.attempts
    if (after.lease_version > before.lease_version) {
      const nowMs = Date.parse(after.leased_until ?? '') - leaseMs
      const isHeld = (one: Delivery) => Date.parse(one.leased_until ?? '') > nowMs
      // The result of an attempt and the next lease may share a commit.
      if (!isAttempted && isHeld(before)) return 'another process has leased it'
      const others = db.alert_deliveries.filter(
        (one) => one.id !== id && one.subscription_id === subscription && one.status === 'pending',
      )
      if (others.some(isHeld)) return 'another delivery to the same webhook is under way'
      if (!isAttempted) return null
    }
    const isEnded = db.alert_subscriptions.some(
      (one) => one.id === subscription && one.status === 'disabled',
    )
    if (!isAttempted) {
      const isReleased = before.next_attempt_at === null && after.next_attempt_at !== null
      if (isReleased && after.status === 'pending') return null
      return after.status === 'dead' && isEnded ? null : 'it changes without an attempt'
    }
    const isCounted = after.attempts === before.attempts + 1
    if (!isCounted || after.attempts > (attempts.get(id) ?? 0)) return 'its attempts are wrong'
    const seen = outcomesOf(id)
    if (after.status === 'pending') {
      return seen.includes('failed') ? null : 'it is retried without a failure'
    }
    if (after.status === 'delivered') {
      return seen.includes('accepted') ? null : 'no receiver has accepted it'
    }
    if (seen.includes('gone')) return isEnded ? null : 'its webhook is gone and still subscribed'
    return isEnded || after.attempts === attemptLimit ? null : 'it is given up too soon'
  }

  function observeDelivery(
    { before, after }: { readonly before: Delivery | null; readonly after: Delivery | null },
    db: Snapshot,
    due: Set<string>,
  ): void {
    const id = after?.id ?? before?.id ?? ''
    if (after === null) {
      const isSubscribed = db.alert_subscriptions.some((one) => one.id === before?.subscription_id)
      const isReplaced = before?.type === 'endpoint.challenge'
      if (isSubscribed && !isReplaced && before?.status === 'pending')
        fail(`the delivery ${id} is dropped`)
      return
    }
    log(`    the delivery ${id.slice(0, 12)} is ${after.status}, ${after.attempts} attempts`)
    if (before === null) {
      const isFresh = after.status === 'pending' && after.attempts === 0
      // Tests and challenges have no event.
      const isDue =
        after.event_seq === null || due.delete(keyOf(after.subscription_id, after.event_seq))
      if (!isFresh || !isDue) fail(`the delivery ${id} should not exist`)
      return
    }
    const problem = findInvalid(before, after, db)
    if (problem !== null) fail(`the delivery ${id}: ${problem}`)
    if (after.lease_version > before.lease_version) {
      const webhook = db.alert_subscriptions.find((one) => one.id === after.subscription_id)
      leased.set(id, { delivery: after, url: webhook?.url ?? '' })
    }
    if (after.status === 'delivered') tally.delivered += 1
  }

  return {
    observe: (
      changes: readonly Change[],
      { before, after }: { readonly before: Snapshot; readonly after: Snapshot },
    ): void => {
      for (const { id, status, failing_since } of after.alert_subscriptions) {
        const earlier = before.alert_subscriptions.find((one) => one.id === id)?.status
        const wasEnabled = earlier === 'active' || earlier === 'pending'
        const isGone = after.alert_deliveries.some(
          (one) => one.subscription_id === id && outcomesOf(one.id).includes('gone'),
        )
        const isOver = machine.nowMs() - Date.parse(failing_since ?? '') >= failingAllowedMs
        if (status === 'disabled' && wasEnabled && !isGone && !isOver)
          fail(`${id} ends without a reason`)
      }
      const [from, to] = [cursorOf(before), cursorOf(after)]
      if (to < from) fail('the cursor over events goes back')
      const due = new Set(
        before.events
          .filter(({ seq }) => seq > from && seq <= to)
          .flatMap((event) =>
            before.alert_subscriptions
              .filter((webhook) => isWanted(webhook, event))
              .map(({ id }) => keyOf(id, event.seq)),
          ),
      )
      const idsOf = ({ before: old, after: row }: Change) => [old?.['id'], row?.['id']]
      for (const id of new Set(
        changes.filter(({ table }) => table === 'alert_deliveries').flatMap(idsOf),
      )) {
        if (id === undefined) continue
        const find = (db: Snapshot) => db.alert_deliveries.find((one) => one.id === id) ?? null
        observeDelivery({ before: find(before), after: find(after) }, after, due)
      }
      for (const one of due) fail(`no delivery was created for ${one}`)
    },
    leaves: ({ id, timestamp }: WebhookRequest): void => {
      if (timestamp !== Math.floor(machine.nowMs() / 1000)) fail(`${id} has another time`)
      const lease = leased.get(id)
      if (lease === undefined) fail(`${id} is sent without a lease`)
      else underWay.set(id, lease)
      leased.delete(id)
      const { delivery } = lease ?? {}
      const webhook = current().alert_subscriptions.find(
        (one) => one.id === delivery?.subscription_id,
      )
      const isProof = delivery?.type === 'endpoint.challenge'
      if (webhook?.status === 'pending' && !isProof) fail(`${id} leaves before the proof`)
      attempts.set(id, (attempts.get(id) ?? 0) + 1)
    },
    arrives: ({ id, url, body, isSignedWith }: WebhookRequest): void => {
      const lease = underWay.get(id)
      if (lease === undefined) return
      const { subscription_id: subscription, event_seq: seq, type } = lease.delivery
      const event = current().events.find((one) => one.seq === seq)
      const { data } = body
      const isRight =
        seq === null
          ? data['subscription_id'] === subscription
          : event !== undefined && data['id'] === event.id && data['rail'] === event.rail
      if (!isRight || body.type !== type || url !== lease.url) fail(`${id} has another content`)
      if (!isSignedWith(webhookSecret(installation.keyedHash, subscription))) {
        fail(`${id} is not signed`)
      }
    },
    hears: (id: string, outcome: DeliveryOutcome): void => {
      outcomes.set(id, [...outcomesOf(id), outcome])
    },
    restore: (): void => leased.clear(),
    isBehind: (): boolean => {
      const db = current()
      const isCursorBehind = (db.events.at(-1)?.seq ?? 0) !== cursorOf(db)
      return isCursorBehind || db.alert_deliveries.some(({ status }) => status === 'pending')
    },
  }
}

function keyOf(subscription: string, eventSeq: number): string {
  return `${subscription} ${eventSeq}`
}

function isWanted(webhook: RowOf<'alert_subscriptions'>, event: RowOf<'events'>): boolean {
  if (webhook.status === 'disabled' || event.seq <= webhook.after_seq) return false
  const rails: unknown = JSON.parse(webhook.rails ?? 'null')
  return rails === null || (Array.isArray(rails) && rails.includes(event.rail))
}

function cursorOf(db: Snapshot): number {
  return Number(db.meta.find(({ key }) => key === 'webhooks_cursor')?.value ?? 0)
}
