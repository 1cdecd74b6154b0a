import {
  enableSubscription,
  ownSubscription,
  rotateSecret,
  subscribe,
  subscriptionView,
  testSubscription,
  unsubscribe,
} from '../../actions/alerts.ts'
import type { ActionDeps } from '../../actions/deps.ts'
import { requirePartner } from '../../actions/partner-access.ts'
import { present } from '../../core/entries.ts'
import { isoTime, minuteMs, secondMs } from '../../core/time.ts'
import { subscriptionsOf, alertEventOf, deliveriesOf } from '../../db/alerts.ts'
import type { SubscriptionRecord, WebhookDelivery } from '../../db/alerts.ts'
import { eventsSince } from '../../db/events.ts'
import type { Handlers, ReadContext } from '../handler-types.ts'
import { limitOf, sinceOf } from '../lists.ts'

const BEGINNING = isoTime(0)

export function alertHandlers(deps: ActionDeps) {
  const { reader } = deps.database

  const find = async (id: string, { partner, nowMs }: ReadContext): Promise<SubscriptionRecord> => {
    const proof = await partner()
    await requirePartner(reader, proof, { use: 'read', nowMs })
    return await ownSubscription(reader, id, proof)
  }

  return {
    async getAlertFeed({ query }, { nowMs, list }) {
      const { rail, severity, since } = query
      const limit = limitOf(query)
      const after = sinceOf(since) ?? BEGINNING
      const rows = await list((db) => eventsSince(db, { after }, limit + 1, { rail, severity }))
      const events = rows.slice(0, limit).map(alertEventOf)
      return {
        body: {
          count: events.length,
          events,
          next_poll_hint: {
            // The builder polls at whole minutes.
            after_seconds:
              rows.length > limit ? 0 : Math.ceil((minuteMs - (nowMs % minuteMs)) / secondMs),
            since: events.at(-1)?.created_at ?? after,
          },
        },
      }
    },
    subscribeAlerts: ({ body }, context) => subscribe(deps, { ...context, body }),
    async listAlertSubscriptions(_input, { partner, nowMs }) {
      const proof = await partner()
      await requirePartner(reader, proof, { use: 'read', nowMs })
      const own = await subscriptionsOf(reader, proof.wallet.id)
      const subscriptions = own.map(subscriptionView)
      return { body: { count: subscriptions.length, total: subscriptions.length, subscriptions } }
    },
    getAlertSubscription: async ({ params }, context) => ({
      body: subscriptionView(await find(params.id, context)),
    }),
    async listAlertDeliveries({ params, query }, context) {
      const { id } = await find(params.id, context)
      const rows = await context.list((db) => deliveriesOf(db, id, limitOf(query), query.status))
      return { body: { count: rows.length, deliveries: rows.map(deliveryView) } }
    },
    unsubscribeAlerts: ({ params }, context) => unsubscribe(deps, params.id, context),
    enableAlerts: ({ params }, context) => enableSubscription(deps, params.id, context),
    rotateAlertSecret: ({ params }, context) => rotateSecret(deps, params.id, context),
    testAlerts: ({ params }, context) => testSubscription(deps, params.id, context),
  } satisfies Partial<Handlers>
}

function deliveryView(record: WebhookDelivery) {
  return {
    id: record.id,
    type: record.type,
    status: record.status,
    attempts: record.attempts,
    ...present({
      next_attempt_at: record.nextAttemptAt,
      last_status: record.lastStatus,
      last_error: record.lastError,
    }),
    created_at: record.createdAt,
    ...present({ finished_at: record.finishedAt }),
    payload: record.payload,
  }
}
