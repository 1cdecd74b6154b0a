import { ApiError } from '../contract/errors.ts'
import type { SubscribeBody, Subscription } from '../contract/schemas/alert.ts'
import { present } from '../core/entries.ts'
import { openQuotas } from '../core/limits.ts'
import { newId } from '../core/new-id.ts'
import { checkOutboundUrl } from '../core/outbound-url.ts'
import { isoTime } from '../core/time.ts'
import {
  insertSubscription,
  restartSubscription,
  subscriptionsOf,
  challengeType,
  enqueueDelivery,
  payloadOf,
  pendingOf,
} from '../db/alerts.ts'
import type { SubscriptionRecord, NewDelivery } from '../db/alerts.ts'
import { lastEventSeq } from '../db/events.ts'
import { deleteRecords, findRecord, updateRecord } from '../db/records.ts'
import type { Db } from '../db/schema.ts'
import { previousSecretMs, webhookSecret } from '../outbound/standard-webhook.ts'
import type { ActionDeps } from './deps.ts'
import type { OutcomeOf } from './idempotency.ts'
import { commitPartnerWrite } from './partner-write.ts'
import type { PartnerWrite } from './partner-write.ts'
import { requireRail } from './reference.ts'
import { invalidField } from './signed-body.ts'

/** Returns 201 with the secret, which is derived, not stored: only an exact repeat returns it again. */
export async function subscribe(
  deps: ActionDeps,
  write: PartnerWrite & { readonly body: SubscribeBody },
): Promise<OutcomeOf<'subscribeAlerts'>> {
  const { body, proof, request } = write
  const checked = checkOutboundUrl(body.url)
  if (!checked.ok) throw invalidField('url', checked.problem)
  for (const rail of body.rails ?? []) requireRail(deps.reference(), rail)
  const id = newId(deps.random, 'sub')
  const createdAt = isoTime(request.nowMs)
  const challenge = newDelivery(deps, id, challengeType, createdAt)
  const outcome = await commitPartnerWrite(deps, write, async (tx) => {
    const own = await subscriptionsOf(tx, proof.wallet.id)
    const most = openQuotas.alertSubscriptions
    if (own.length >= most)
      throw new ApiError('refused', `At most ${most} subscriptions per wallet`)
    const subscription = await insertSubscription(tx, {
      id,
      wallet: proof.wallet.id,
      url: body.url,
      rails: body.rails === undefined ? null : [...new Set(body.rails)],
      severity: body.severity ?? null,
      afterSeq: await lastEventSeq(tx),
      createdAt,
    })
    await enqueueDelivery(tx, challenge)
    return { status: 201, body: subscriptionView(subscription) }
  })
  const { body: stored } = outcome
  return { ...outcome, body: { ...stored, secret: webhookSecret(deps.keys.hash, stored.id) } }
}

/** Also deletes pending deliveries. @throws ApiError 404 for an unknown subscription */
export async function unsubscribe(
  deps: ActionDeps,
  id: string,
  write: PartnerWrite,
): Promise<OutcomeOf<'unsubscribeAlerts'>> {
  return await commitPartnerWrite(deps, write, async (tx) => {
    const own = { id, wallet: write.proof.wallet.id }
    const deleted = await deleteRecords(tx, 'alert_subscriptions', own)
    if (deleted === 0) throw new ApiError('unknown_subscription')
    return { status: 200, body: { id, status: 'deleted' } }
  })
}

function newDelivery(
  { random }: ActionDeps,
  subscriptionId: string,
  type: 'test' | typeof challengeType,
  createdAt: string,
): NewDelivery {
  const id = newId(random, 'msg')
  // The challenge is the id of the delivery, which the endpoint repeats.
  const challenge = type === challengeType ? { challenge: id } : {}
  const payload = payloadOf(type, createdAt, { subscription_id: subscriptionId, ...challenge })
  return { id, subscriptionId, eventSeq: null, type, payload, createdAt, nextAttemptAt: createdAt }
}

/**
 * Sends a new challenge (202). Once it is answered, only newer events are delivered.
 * @throws ApiError 409 for an active subscription, or while the first attempt of an earlier challenge is due
 */
export async function enableSubscription(
  deps: ActionDeps,
  id: string,
  write: PartnerWrite,
): Promise<OutcomeOf<'enableAlerts'>> {
  const at = isoTime(write.request.nowMs)
  const challenge = newDelivery(deps, id, challengeType, at)
  return await commitPartnerWrite(deps, write, async (tx) => {
    const found = await ownSubscription(tx, id, write.proof)
    if (found.status === 'active')
      throw new ApiError('conflict', 'The subscription is active already')
    const waiting = { ...pendingOf(id), type: challengeType }
    const earlier = await findRecord(tx, 'alert_deliveries', waiting)
    if (earlier?.attempts === 0)
      throw new ApiError('conflict', 'A challenge is under way: answer it, or wait for its result')
    if (earlier !== null) await deleteRecords(tx, 'alert_deliveries', { id: earlier.id })
    const afterSeq = found.status === 'pending' ? found.afterSeq : await lastEventSeq(tx)
    await restartSubscription(tx, id, { afterSeq, at })
    await enqueueDelivery(tx, challenge)
    return { status: 202, body: { delivery_id: challenge.id, status: 'pending' } }
  })
}

/** @throws ApiError 404 */
export async function ownSubscription(
  db: Db,
  id: string,
  { wallet }: Pick<PartnerWrite['proof'], 'wallet'>,
): Promise<SubscriptionRecord> {
  const found = await findRecord(db, 'alert_subscriptions', { id, wallet: wallet.id })
  if (found === null) throw new ApiError('unknown_subscription')
  return found
}

/** Returns 201 with the secret, which is derived: only an exact repeat returns it again. */
export async function rotateSecret(
  deps: ActionDeps,
  id: string,
  write: PartnerWrite,
): Promise<OutcomeOf<'rotateAlertSecret'>> {
  const { nowMs } = write.request
  const outcome = await commitPartnerWrite(deps, write, async (tx) => {
    const { secretVersion: version } = await ownSubscription(tx, id, write.proof)
    const changes = { secretVersion: version + 1, rotatedAt: isoTime(nowMs) }
    await updateRecord(tx, 'alert_subscriptions', { id }, changes)
    const until = isoTime(nowMs + previousSecretMs)
    return { status: 201, body: { id, secret_version: version + 1, previous_valid_until: until } }
  })
  const { body } = outcome
  const secret = webhookSecret(deps.keys.hash, id, body.secret_version)
  return { ...outcome, body: { ...body, secret } }
}

/** Enqueues a test delivery (202). @throws ApiError 409 while an earlier test is pending */
export async function testSubscription(
  deps: ActionDeps,
  id: string,
  write: PartnerWrite,
): Promise<OutcomeOf<'testAlerts'>> {
  const delivery = newDelivery(deps, id, 'test', isoTime(write.request.nowMs))
  return await commitPartnerWrite(deps, write, async (tx) => {
    const found = await ownSubscription(tx, id, write.proof)
    if (found.status === 'disabled') {
      throw new ApiError('conflict', 'The subscription is disabled: enable it first')
    }
    const earlier = { ...pendingOf(id), type: 'test' }
    if ((await findRecord(tx, 'alert_deliveries', earlier)) !== null)
      throw new ApiError('conflict', 'An earlier test is pending: wait for its result')
    const nextAttemptAt = found.status === 'active' ? delivery.nextAttemptAt : null
    await enqueueDelivery(tx, { ...delivery, nextAttemptAt })
    return { status: 202, body: { delivery_id: delivery.id, status: 'pending' } }
  })
}

export function subscriptionView(record: SubscriptionRecord): Subscription {
  const { failures, failingSince } = record
  return {
    id: record.id,
    url: record.url,
    rails: record.rails === null ? null : [...record.rails],
    severity: record.severity,
    status: record.status,
    ...present({ status_reason: record.statusReason, disabled_at: record.disabledAt }),
    ...(failures === 0 || failingSince === null ? {} : { failures, failing_since: failingSince }),
    ...present({ last_error: record.lastError, paused_until: record.pausedUntil }),
    created_at: record.createdAt,
  }
}
