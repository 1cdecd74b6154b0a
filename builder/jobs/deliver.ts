import { createFairLanes } from '../../src/core/fair-lanes.ts'
import type { LaneItem } from '../../src/core/fair-lanes.ts'
import { severitiesFrom } from '../../src/core/flags/kind.ts'
import { newId } from '../../src/core/new-id.ts'
import { dayMs, hourMs, isoTime, minuteMs, secondMs } from '../../src/core/time.ts'
import {
  enabledSubscriptions,
  alertEventOf,
  alertPayload,
  dropDeliveriesBefore,
  dueSubscriptions,
  enqueueDelivery,
  leaseDelivery,
} from '../../src/db/alerts.ts'
import type { SubscriptionRecord, DeliveryLease, DueSubscription } from '../../src/db/alerts.ts'
import { eventsSince, lastEventSeq } from '../../src/db/events.ts'
import type { EventRecord } from '../../src/db/events.ts'
import { getMeta, setMeta } from '../../src/db/meta.ts'
import { TimeoutError, withTimeout } from '../../src/outbound/timeout.ts'
import type { JobResult } from './run-job.ts'
import { attempt } from './webhook-attempt.ts'
import type { WebhookDeps } from './webhook-attempt.ts'

const noneYet = { delivered: 0, failed: 0, dead: 0 }

export type Webhooks = ReturnType<typeof createWebhooks>

const cursorKey = 'webhooks_cursor'
const rowsPerWrite = 2000
const eventsPerRead = 200

/** The lease is longer than an attempt and the write of its outcome can take. */
const leaseMs = minuteMs
/** Number of concurrent attempts, of which at most one belongs to the same subscription. */
const lanes = 64
/** The part of them for subscriptions whose last attempt failed, and for partners with a slow endpoint. */
const lanesForFailing = 16
/** An attempt may last 15 seconds, so endpoints that use this time could fill all lanes. */
const slowMs = 3 * secondMs
const lanesPerParty = 2
const roundMs = 5 * secondMs

const finishedKeptMs = 30 * dayMs
const cleanEveryMs = hourMs

export function createWebhooks(deps: WebhookDeps) {
  const { database, clock, signal } = deps
  let cleanedAtMs = Number.NEGATIVE_INFINITY
  let totals = { ...noneYet }
  const errors: unknown[] = []
  const slowParties = new Set<string>()
  const fair = createFairLanes<LaneItem & DueSubscription>(lanes, async (subscription) => {
    try {
      const leasedMs = clock.monotonic()
      const delivery = signal.aborted ? null : await lease(deps, subscription)
      const startedMs = clock.monotonic()
      // A process that was paused must not send what another one may have leased since.
      if (delivery === null || startedMs - leasedMs >= leaseMs) return false
      const result = await attempt(deps, delivery)
      const isSlow = clock.monotonic() - startedMs > slowMs
      slowParties[isSlow ? 'add' : 'delete'](subscription.wallet)
      if (result !== null) totals[result] += 1
      return result === 'delivered'
    } catch (error) {
      errors.push(error)
      return false
    }
  })
  return {
    /** Resolves when no attempt runs. */
    settled: fair.idle,
    /** Ends after `roundMs` at the latest; running attempts continue, and count in the next round. */
    run: async (): Promise<typeof noneYet> => {
      await fillOutbox(deps)
      const due = await dueSubscriptions(database.reader, isoTime(clock.now()))
      fair.offer(due.map((one) => inLanes(one, slowParties.has(one.wallet))))
      await withTimeout({ timeoutMs: roundMs, clock }, fair.idle).catch((error: unknown) => {
        if (!(error instanceof TimeoutError)) throw error
      })
      if (errors.length > 0) throw errors.splice(0)[0]
      if (clock.monotonic() - cleanedAtMs >= cleanEveryMs) {
        cleanedAtMs = clock.monotonic()
        const before = isoTime(clock.now() - finishedKeptMs)
        await database.write((tx) => dropDeliveriesBefore(tx, before))
      }
      const ended = totals
      totals = { ...noneYet }
      return ended
    },
  }
}

/** Failing subscriptions cannot take the share of a host that works for others. */
function inLanes(subscription: DueSubscription, isSlow: boolean): LaneItem & DueSubscription {
  const { wallet, url, failingSince } = subscription
  const isFailing = isSlow || failingSince !== null
  const host = `${isFailing ? 'failing' : 'working'} ${new URL(url).hostname}`
  const shares = [wallet, host].map((key) => ({ key, limit: lanesPerParty }))
  if (isFailing) shares.push({ key: 'failing', limit: lanesForFailing })
  return { ...subscription, party: wallet, shares }
}

/** Moves the cursor in the same transaction, so that no event is skipped or written twice. */
async function fillOutbox(deps: WebhookDeps): Promise<void> {
  const { database, clock, random } = deps
  for (;;) {
    const behind = Number((await getMeta(database.reader, cursorKey)) ?? '0')
    if (behind >= (await lastEventSeq(database.reader))) return
    await database.write(async (tx) => {
      const cursor = Number((await getMeta(tx, cursorKey)) ?? '0')
      const subscriptions = await enabledSubscriptions(tx)
      const share = Math.floor(rowsPerWrite / Math.max(1, subscriptions.length))
      const limit = Math.min(eventsPerRead, Math.max(1, share))
      const events = await eventsSince(tx, { seq: cursor }, limit)
      const createdAt = isoTime(clock.now())
      for (const event of events) {
        const wanted = subscriptions.filter((subscription) => wants(subscription, event))
        if (wanted.length === 0) continue
        const payload = alertPayload(alertEventOf(event))
        for (const { id, status } of wanted) {
          await enqueueDelivery(tx, {
            id: newId(random, 'msg'),
            subscriptionId: id,
            eventSeq: event.seq,
            type: event.kind,
            payload,
            createdAt,
            nextAttemptAt: status === 'pending' ? null : createdAt,
          })
        }
      }
      const last = events.at(-1)
      if (last !== undefined) await setMeta(tx, cursorKey, String(last.seq))
    })
  }
}

function wants(subscription: SubscriptionRecord, event: EventRecord): boolean {
  const { rails, severity, afterSeq } = subscription
  if (event.seq <= afterSeq) return false
  if (severity !== null && !severitiesFrom(severity).includes(event.severity)) return false
  return rails === null || (event.rail !== null && rails.includes(event.rail))
}

async function lease(
  { database, clock }: WebhookDeps,
  subscription: DueSubscription,
): Promise<DeliveryLease | null> {
  const nowMs = clock.now()
  const times = { now: isoTime(nowMs), leasedUntil: isoTime(nowMs + leaseMs) }
  return await database.write((tx) => leaseDelivery(tx, subscription, times))
}

export function deliveryResult({ delivered, failed, dead }: typeof noneYet): JobResult {
  const parts = [
    delivered === 0 ? null : `${delivered} delivered`,
    failed === 0 ? null : `${failed} failed and will be retried`,
    dead === 0 ? null : `${dead} given up`,
  ].filter((part) => part !== null)
  return { detail: parts.length === 0 ? null : parts.join(', '), quiet: parts.length === 0 }
}
