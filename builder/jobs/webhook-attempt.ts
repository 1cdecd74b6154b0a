/** One delivery attempt, and its effect on the subscription. */
import { dayMs, hourMs, isoTime, minuteMs, secondMs } from '../../src/core/time.ts'
import { retryWaitMs } from '../../src/core/webhook-retry.ts'
import {
  noteFailure,
  noteSuccess,
  challengeType,
  pendingOf,
  settleDelivery,
} from '../../src/db/alerts.ts'
import type { AttemptOutcome, DeliveryLease } from '../../src/db/alerts.ts'
import { updateRecord } from '../../src/db/records.ts'
import type { Db } from '../../src/db/schema.ts'
import { OutboundError } from '../../src/outbound/pinned-fetch.ts'
import { previousSecretMs, webhookHeaders } from '../../src/outbound/standard-webhook.ts'
import type { BuilderDeps } from './run-job.ts'

export interface WebhookDeps extends Omit<BuilderDeps, 'fetch'> {
  /** The secret of a subscription, `whsec_…`. */
  readonly secretOf: (subscriptionId: string, version: number) => string
}

const attemptTimeoutMs = 15 * secondMs
const maxAnswerBytes = 64 * 1024

const failuresBeforePause = 5
const firstPauseMs = minuteMs
const longestPauseMs = hourMs
/** A subscription that fails for this long is disabled. */
const failingAllowedMs = 3 * dayMs

/** Null when the outcome does not count: the round was stopped, or another process has the lease. */
export async function attempt(
  deps: WebhookDeps,
  delivery: DeliveryLease,
): Promise<'delivered' | 'failed' | 'dead' | null> {
  const { database, clock, log, random, signal } = deps
  const answer = await sendDelivery(deps, delivery)
  if (signal.aborted) return null
  const nowMs = clock.now()
  const outcome = decide(answer, delivery.attempts + 1, nowMs, random.unit())
  const isKept = await database.write(async (tx) => {
    const isStored = await settleDelivery(tx, delivery, outcome)
    if (isStored) await noteOutcome(tx, delivery, outcome, nowMs)
    return isStored
  })
  if (!isKept) {
    log.info('webhook settled by another process', { delivery: delivery.id })
    return null
  }
  return outcome.status === 'pending' ? 'failed' : outcome.status
}

async function noteOutcome(
  tx: Db,
  { subscriptionId: id, type }: DeliveryLease,
  { error, at, answered }: AttemptOutcome,
  nowMs: number,
): Promise<void> {
  if (error === null) {
    await noteSuccess(tx, id)
    // The deliveries that waited for the proof of the endpoint are due.
    const waiting = { ...pendingOf(id), nextAttemptAt: null }
    if (type === challengeType) {
      await updateRecord(tx, 'alert_deliveries', waiting, { nextAttemptAt: at })
    }
    return
  }
  const failing = await noteFailure(tx, id, { error, at })
  if (failing === null) return
  const { failures, failingSince } = failing
  const isOver = nowMs - Date.parse(failingSince ?? at) >= failingAllowedMs
  if (answered === GONE || isOver) {
    const reason = answered === GONE ? goneReason : failedReason
    const disabled = { status: 'disabled', statusReason: reason, disabledAt: at } as const
    await updateRecord(tx, 'alert_subscriptions', { id }, { ...disabled, pausedUntil: null })
    const dead = { status: 'dead', nextAttemptAt: null, leasedUntil: null } as const
    const ended = { ...dead, lastError: reason, finishedAt: at }
    await updateRecord(tx, 'alert_deliveries', pendingOf(id), ended)
    return
  }
  if (failures < failuresBeforePause) return
  const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** (failures - failuresBeforePause))
  const pausedUntil = isoTime(nowMs + pauseMs)
  await updateRecord(tx, 'alert_subscriptions', { id }, { pausedUntil })
}

interface Answer {
  readonly status: number | null
  readonly error: string | null
}

/** `alerts listen` sends to a webhook in development with the same code. */
export async function sendDelivery(
  deps: Pick<WebhookDeps, 'send' | 'clock' | 'secretOf' | 'userAgent' | 'signal'>,
  delivery: Pick<
    DeliveryLease,
    'id' | 'type' | 'payload' | 'url' | 'subscriptionId' | 'secretVersion' | 'rotatedAt'
  >,
): Promise<Answer> {
  const { send, clock, secretOf, userAgent, signal } = deps
  const { type, payload, secretVersion, rotatedAt } = delivery
  const timeMs = clock.now()
  const isRecent = rotatedAt !== null && timeMs - Date.parse(rotatedAt) < previousSecretMs
  const versions = isRecent ? [secretVersion, secretVersion - 1] : [secretVersion]
  const secrets = versions.map((version) => secretOf(delivery.subscriptionId, version))
  const signed = webhookHeaders({ id: delivery.id, timeMs, payload, secrets })
  try {
    const { status, body } = await send(
      {
        url: delivery.url,
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'User-Agent': userAgent, ...signed },
        body: payload,
      },
      { timeoutMs: attemptTimeoutMs, maxAnswerBytes, signal },
    )
    const isWrong = isSuccess(status) && type === challengeType && !repeats(body, delivery.id)
    return { status, error: isWrong ? wrongAnswer : null }
  } catch (error) {
    if (error instanceof OutboundError) return { status: null, error: error.message }
    if (signal.aborted) return { status: null, error: 'The builder was stopped' }
    throw error
  }
}

/** The answer to a challenge is its text, or JSON with the only member `challenge`. */
function repeats(body: Buffer | null, challenge: string): boolean {
  const text = body?.toString('utf8').replaceAll(/\s/g, '')
  return text === challenge || text === JSON.stringify({ challenge })
}

const GONE = 410
const wrongAnswer = 'The answer does not contain the challenge'
const failedReason = 'Every attempt of 3 days failed, which disables the subscription'
const goneReason = 'The receiver answered 410, which disables the subscription'

/** Redirects are not followed. */
function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

function decide(
  { status, error }: Answer,
  attempts: number,
  nowMs: number,
  unit: number,
): AttemptOutcome {
  const at = isoTime(nowMs)
  const end = { nextAttemptAt: null, answered: status, at } as const
  if (status !== null && error === null && isSuccess(status)) {
    return { ...end, status: 'delivered', error: null }
  }
  const reason = error ?? `The receiver answered ${status}`
  if (status === GONE) return { ...end, status: 'dead', error: goneReason }
  const waitMs = retryWaitMs(attempts, unit)
  if (waitMs === null) return { ...end, status: 'dead', error: reason }
  return { ...end, status: 'pending', nextAttemptAt: isoTime(nowMs + waitMs), error: reason }
}
