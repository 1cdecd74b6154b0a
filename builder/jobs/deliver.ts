import type { Clock, Log, Random } from '../../src/core/deps.ts'
import { newId } from '../../src/core/new-id.ts'
import { dayMs, hourMs, isoTime, minuteMs, secondMs } from '../../src/core/time.ts'
import { retryWaitMs } from '../../src/core/webhook-retry.ts'
import { activeSubscriptions, disableSubscription } from '../../src/db/alerts.ts'
import type { SubscriptionRecord } from '../../src/db/alerts.ts'
import { eventsSince, lastEventSeq } from '../../src/db/events.ts'
import type { EventRecord } from '../../src/db/events.ts'
import { getMeta, setMeta } from '../../src/db/meta.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import {
  alertEventOf,
  alertPayload,
  dropDeliveriesBefore,
  enqueueDelivery,
  isDeliveryDue,
  failPendingDeliveries,
  leaseDeliveries,
  settleDelivery,
} from '../../src/db/webhooks.ts'
import type { AttemptOutcome, DeliveryLease } from '../../src/db/webhooks.ts'
import { OutboundError } from '../../src/outbound/pinned-fetch.ts'
import type { PinnedFetch } from '../../src/outbound/pinned-fetch.ts'
import { webhookHeaders } from '../../src/outbound/standard-webhook.ts'
import type { JobResult } from './run-job.ts'

export interface WebhookDeps {
  readonly database: OpenDatabase
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly send: PinnedFetch
  /** The secret of a subscription, `whsec_…`. */
  readonly secretOf: (subscriptionId: string) => string
  readonly userAgent: string
  /** The signal ends running attempts. A later round repeats them. */
  readonly signal: AbortSignal
}

export interface WebhookRound {
  readonly delivered: number
  readonly failed: number
  readonly dead: number
}

export type Webhooks = ReturnType<typeof createWebhooks>

const cursorKey = 'webhooks_cursor'
const rowsPerWrite = 2000
const eventsPerRead = 200

const attemptTimeoutMs = 15 * secondMs
const maxAnswerBytes = 64 * 1024
/** The lease is longer than an attempt and the write of its outcome can take. */
const leaseMs = minuteMs
/** Number of concurrent attempts, of which at most one belongs to the same subscription. */
const lanes = 8

const finishedKeptMs = 30 * dayMs
const cleanEveryMs = hourMs

export function createWebhooks(deps: WebhookDeps) {
  const { database, clock, signal } = deps
  let cleanedAtMs = Number.NEGATIVE_INFINITY
  return {
    run: async (): Promise<WebhookRound> => {
      await fillOutbox(deps)
      const totals = { delivered: 0, failed: 0, dead: 0 }
      const lane = async (): Promise<void> => {
        for (;;) {
          const delivery = signal.aborted ? null : await leaseOne(deps)
          if (delivery === null) return
          const result = await attempt(deps, delivery)
          if (result !== null) totals[result] += 1
        }
      }
      await Promise.all(Array.from({ length: lanes }, lane))
      if (clock.monotonic() - cleanedAtMs >= cleanEveryMs) {
        cleanedAtMs = clock.monotonic()
        const before = isoTime(clock.now() - finishedKeptMs)
        await database.write((tx) => dropDeliveriesBefore(tx, before))
      }
      return totals
    },
  }
}

/** Moves the cursor in the same transaction, so that no event is skipped or written twice. */
async function fillOutbox(deps: WebhookDeps): Promise<void> {
  const { database, clock, random } = deps
  for (;;) {
    const behind = Number((await getMeta(database.reader, cursorKey)) ?? '0')
    if (behind >= (await lastEventSeq(database.reader))) return
    await database.write(async (tx) => {
      const cursor = Number((await getMeta(tx, cursorKey)) ?? '0')
      const subscriptions = await activeSubscriptions(tx)
      const share = Math.floor(rowsPerWrite / Math.max(1, subscriptions.length))
      const limit = Math.min(eventsPerRead, Math.max(1, share))
      const events = await eventsSince(tx, { seq: cursor }, limit)
      const createdAt = isoTime(clock.now())
      for (const event of events) {
        const wanted = subscriptions.filter((subscription) => wants(subscription, event))
        if (wanted.length === 0) continue
        const payload = alertPayload(alertEventOf(event))
        for (const { id } of wanted) {
          await enqueueDelivery(tx, {
            id: newId(random, 'msg'),
            subscriptionId: id,
            eventSeq: event.seq,
            type: event.kind,
            payload,
            createdAt,
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
  if (severity !== null && event.severity !== severity) return false
  return rails === null || (event.rail !== null && rails.includes(event.rail))
}

async function leaseOne({ database, clock }: WebhookDeps): Promise<DeliveryLease | null> {
  const nowMs = clock.now()
  const now = isoTime(nowMs)
  if (!(await isDeliveryDue(database.reader, now))) return null
  const leasedUntil = isoTime(nowMs + leaseMs)
  const [delivery = null] = await database.write((tx) =>
    leaseDeliveries(tx, { now, leasedUntil, limit: 1 }),
  )
  return delivery
}

/** Returns null if the round was stopped or another process has the lease, so that the outcome does not count. */
async function attempt(
  deps: WebhookDeps,
  delivery: DeliveryLease,
): Promise<keyof WebhookRound | null> {
  const { database, clock, log, random, signal } = deps
  const answer = await sendOnce(deps, delivery)
  if (signal.aborted) return null
  const nowMs = clock.now()
  const { outcome, isGone } = decide(answer, delivery.attempts + 1, nowMs, random.unit())
  const isKept = await database.write(async (tx) => {
    const isStored = await settleDelivery(tx, delivery, outcome)
    if (isStored && isGone) {
      await disableSubscription(tx, delivery.subscriptionId, goneReason, outcome.at)
      await failPendingDeliveries(tx, delivery.subscriptionId, goneReason, outcome.at)
    }
    return isStored
  })
  if (!isKept) {
    log.info('webhook settled by another process', { delivery: delivery.id })
    return null
  }
  return outcome.status === 'pending' ? 'failed' : outcome.status
}

interface Answer {
  readonly status: number | null
  readonly error: string | null
}

async function sendOnce(deps: WebhookDeps, delivery: DeliveryLease): Promise<Answer> {
  const { send, clock, secretOf, userAgent, signal } = deps
  const signed = webhookHeaders({
    id: delivery.id,
    timeMs: clock.now(),
    payload: delivery.payload,
    secret: secretOf(delivery.subscriptionId),
  })
  try {
    const { status } = await send(
      {
        url: delivery.url,
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'User-Agent': userAgent, ...signed },
        body: delivery.payload,
      },
      { timeoutMs: attemptTimeoutMs, maxAnswerBytes, signal },
    )
    return { status, error: null }
  } catch (error) {
    if (error instanceof OutboundError) return { status: null, error: error.message }
    if (signal.aborted) return { status: null, error: 'The builder was stopped' }
    throw error
  }
}

const goneReason = 'The receiver answered 410, which disables the subscription'

/** Only 2xx is a success: redirects are not followed. */
function decide(
  { status, error }: Answer,
  attempts: number,
  nowMs: number,
  unit: number,
): { readonly outcome: AttemptOutcome; readonly isGone: boolean } {
  const at = isoTime(nowMs)
  const end = { nextAttemptAt: null, answered: status, at } as const
  if (status !== null && status >= 200 && status < 300) {
    return { outcome: { ...end, status: 'delivered', error: null }, isGone: false }
  }
  const reason = error ?? `The receiver answered ${status}`
  if (status === 410) {
    return { outcome: { ...end, status: 'dead', error: goneReason }, isGone: true }
  }
  const waitMs = retryWaitMs(attempts, unit)
  if (waitMs === null) return { outcome: { ...end, status: 'dead', error: reason }, isGone: false }
  const nextAttemptAt = isoTime(nowMs + waitMs)
  return { outcome: { ...end, status: 'pending', nextAttemptAt, error: reason }, isGone: false }
}

export function deliveryResult({ delivered, failed, dead }: WebhookRound): JobResult {
  const parts = [
    delivered === 0 ? null : `${delivered} delivered`,
    failed === 0 ? null : `${failed} failed and will be retried`,
    dead === 0 ? null : `${dead} given up`,
  ].filter((part) => part !== null)
  return { detail: parts.length === 0 ? null : parts.join(', '), quiet: parts.length === 0 }
}
