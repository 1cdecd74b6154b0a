/** The feed of events and the webhooks of partners. */
import type { z } from 'zod'

import {
  subscribe,
  subscriptionView,
  testSubscription,
  unknownSubscription,
  unsubscribe,
} from '../../actions/alerts.ts'
import type { ActionDeps } from '../../actions/deps.ts'
import { requirePartner } from '../../actions/partner-access.ts'
import { deliveryStatus, subscribeBody } from '../../contract/schemas/alert.ts'
import type { alertFeed, Delivery, deliveryList } from '../../contract/schemas/alert.ts'
import { severity as severities } from '../../contract/schemas/flag.ts'
import { emptyBody } from '../../contract/schemas/job.ts'
import { isoTime, minuteMs, parseTime, secondMs } from '../../core/time.ts'
import { alertEventOf } from '../../db/alert-message.ts'
import { findSubscription, subscriptionsOf } from '../../db/alerts.ts'
import type { SubscriptionRecord } from '../../db/alerts.ts'
import { eventsSince } from '../../db/events.ts'
import { deliveriesOf } from '../../db/webhooks.ts'
import type { WebhookDelivery } from '../../db/webhooks.ts'
import type { ReadContext } from '../handler-context.ts'
import { read, remove, write } from '../handlers.ts'
import { partnerWrite } from '../partner-write.ts'

const DEFAULT_LIMIT = 50
/** Before every event: what a client begins with that has seen none. */
const BEGINNING = isoTime(0)

export function alertHandlers(deps: ActionDeps) {
  const { reader } = deps.database
  return {
    getAlertFeed: read(async (context) => ({ body: await feedOf(deps, context) })),
    subscribeAlerts: write(subscribeBody, async (sent) =>
      subscribe(deps, { ...(await partnerWrite(sent)), body: sent.body }),
    ),
    listAlertSubscriptions: read(async ({ partner, nowMs }) => {
      const proof = await partner()
      await requirePartner(reader, proof, { use: 'read', nowMs })
      const own = await subscriptionsOf(reader, proof.wallet.id)
      const subscriptions = own.map(subscriptionView)
      return { body: { count: subscriptions.length, total: subscriptions.length, subscriptions } }
    }),
    getAlertSubscription: read(async (context) => ({
      body: subscriptionView(await ownSubscription(deps, context)),
    })),
    listAlertDeliveries: read(async (context) => {
      const { id } = await ownSubscription(deps, context)
      const { status } = context.query
      const rows = await deliveriesOf(
        reader,
        id,
        limitOf(context.query),
        status === undefined ? undefined : deliveryStatus.parse(status),
      )
      const body: z.infer<typeof deliveryList> = {
        count: rows.length,
        deliveries: rows.map(deliveryView),
      }
      return { body }
    }),
    unsubscribeAlerts: remove(async (sent) =>
      unsubscribe(deps, sent.params['id'] ?? '', await partnerWrite(sent)),
    ),
    testAlerts: write(emptyBody, async (sent) =>
      testSubscription(deps, sent.params['id'] ?? '', await partnerWrite(sent)),
    ),
  }
}

async function feedOf(
  { database }: Pick<ActionDeps, 'database'>,
  { query, nowMs }: ReadContext,
): Promise<z.infer<typeof alertFeed>> {
  const limit = limitOf(query)
  const sinceMs = query['since'] === undefined ? null : parseTime(query['since'])
  const asked = sinceMs === null ? BEGINNING : isoTime(sinceMs)
  // One more than is shown tells whether more wait.
  const rows = await eventsSince(database.reader, { after: asked }, limit + 1, {
    rail: query['rail'],
    severity: query['severity'] === undefined ? undefined : severities.parse(query['severity']),
  })
  const events = rows.slice(0, limit).map(alertEventOf)
  return {
    count: events.length,
    events,
    next_poll_hint: {
      after_seconds: rows.length > limit ? 0 : secondsToNextPoll(nowMs),
      since: events.at(-1)?.created_at ?? asked,
    },
  }
}

/** The builder looks for rails that are due at every whole minute. */
function secondsToNextPoll(nowMs: number): number {
  return Math.ceil((minuteMs - (nowMs % minuteMs)) / secondMs)
}

function limitOf({ limit }: ReadContext['query']): number {
  return limit === undefined ? DEFAULT_LIMIT : Number(limit)
}

async function ownSubscription(
  { database }: Pick<ActionDeps, 'database'>,
  { params, partner, nowMs }: ReadContext,
): Promise<SubscriptionRecord> {
  const proof = await partner()
  await requirePartner(database.reader, proof, { use: 'read', nowMs })
  const found = await findSubscription(database.reader, proof.wallet.id, params['id'] ?? '')
  if (found === null) throw unknownSubscription()
  return found
}

function deliveryView(record: WebhookDelivery): Delivery {
  return {
    id: record.id,
    type: record.type,
    status: record.status,
    attempts: record.attempts,
    ...(record.nextAttemptAt === null ? {} : { next_attempt_at: record.nextAttemptAt }),
    ...(record.lastStatus === null ? {} : { last_status: record.lastStatus }),
    ...(record.lastError === null ? {} : { last_error: record.lastError }),
    created_at: record.createdAt,
    ...(record.finishedAt === null ? {} : { finished_at: record.finishedAt }),
    payload: record.payload,
  }
}
