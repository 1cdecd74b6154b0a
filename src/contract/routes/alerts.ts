import { created, queued, sinceParameter, toBePaid } from '../answers.ts'
import { apiPrefix, json, notFound, parameter, routesOf } from '../route.ts'
import {
  alertFeed,
  leastSeverity,
  deliveryList,
  deliveryStatus,
  rotatedSecret,
  subscribeBody,
  subscription,
  subscriptionCreated,
  subscriptionId,
  subscriptionList,
  subscriptionRemoved,
  testQueued,
} from '../schemas/alert.ts'
import { limitInput, railSlug } from '../schemas/common.ts'
import { severity } from '../schemas/flag.ts'
import { emptyBody } from '../schemas/job.ts'

const { handler } = routesOf('Alerts')

const id = parameter(
  subscriptionId,
  'The `id` of a subscription of the calling wallet.',
  'sub_9f2c41d07a6be8053c1d2e4f',
)
const noSubscription = notFound('unknown_subscription', 'The wallet has no such subscription.')
const limit = parameter(limitInput, 'Maximum number of entries, 1 to 200. Default: 50.', '50')

export const alertRoutes = {
  getAlertFeed: handler('GET', 'partner', {
    path: `${apiPrefix}/alerts/feed`,
    price: '0.002',
    offer:
      'Changes of income channels for AI agents since a time: new statuses and honesty flags, with the figures behind them.',
    summary: 'List flags and rail transitions since a time',
    description:
      'Oldest first. Every event has a unique `created_at`, in the order of the events: polling with `next_poll_hint.since` returns each event exactly once. Without `since` the feed starts with the first event.',
    query: {
      since: sinceParameter(
        'Only events after this time, such as `next_poll_hint.since` of the previous answer.',
      ),
      rail: parameter(railSlug, 'Only events of this rail.', 'x402'),
      severity: parameter(severity, leastSeverity, 'warning'),
      limit,
    },
    answers: {
      200: json('The events.', alertFeed),
      402: toBePaid,
    },
  }),
  subscribeAlerts: handler('POST', 'partner', {
    path: `${apiPrefix}/alerts/subscribe`,
    summary: 'Subscribe a webhook to events',
    description:
      'New events are posted to `url` according to Standard Webhooks: headers `webhook-id`, `webhook-timestamp` and `webhook-signature` (`v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`, keyed with the secret), body `{type, timestamp, data}` of less than 20 kB. Any 2xx within 15 s is success. Failed deliveries are retried after 5 s, 5 min, 30 min, 2, 5, 10, 14, 20 and 24 h; 410 disables the subscription. The first delivery has the type `endpoint.challenge`, and the endpoint proves itself by a 2xx whose body is `data.challenge`, or JSON with the member `challenge`; events wait for this proof. After 5 failures in a row nothing is sent for 1 minute, then for twice as long after each failure, up to 1 hour. A subscription is disabled if every attempt within 3 days failed. A delivery may arrive twice with the same `webhook-id`. At most 10 subscriptions per wallet. The service never connects to a non-public address.',
    body: subscribeBody,
    answers: created('Subscribed. The secret is shown only in this answer.', subscriptionCreated),
  }),
  listAlertSubscriptions: handler('GET', 'partner', {
    path: `${apiPrefix}/alerts/subscriptions`,
    summary: 'List your webhook subscriptions',
    description: 'Newest first, without secrets.',
    answers: { 200: json('The subscriptions.', subscriptionList) },
  }),
  getAlertSubscription: handler('GET', 'partner', {
    path: `${apiPrefix}/alerts/subscriptions/{id}`,
    summary: 'Get one of your webhook subscriptions',
    description: 'Without its secret.',
    params: { id },
    answers: { 200: json('The subscription.', subscription), 404: noSubscription },
  }),
  unsubscribeAlerts: handler('DELETE', 'partner', {
    path: `${apiPrefix}/alerts/subscriptions/{id}`,
    summary: 'Delete a webhook subscription',
    description: 'Also deletes its pending deliveries and its delivery history.',
    params: { id },
    answers: { 200: json('Deleted.', subscriptionRemoved), 404: noSubscription },
  }),
  listAlertDeliveries: handler('GET', 'partner', {
    path: `${apiPrefix}/alerts/subscriptions/{id}/deliveries`,
    summary: 'List deliveries of a webhook subscription',
    description:
      'Newest first. Finished deliveries are kept for 30 days. A delivery is `dead` after ten failed attempts or a 410. Its payload is included here, and its events remain in the feed.',
    params: { id },
    query: {
      status: parameter(deliveryStatus, 'Only deliveries in this state.', 'dead'),
      limit,
    },
    answers: { 200: json('The deliveries.', deliveryList), 404: noSubscription },
  }),
  enableAlerts: handler('POST', 'partner', {
    path: `${apiPrefix}/alerts/subscriptions/{id}/enable`,
    summary: 'Enable a webhook subscription again',
    description:
      'Sends a new challenge to an endpoint that is disabled or has not proved itself. Once it has answered, the subscription receives new events. The feed contains the events that were missed.',
    params: { id },
    body: emptyBody,
    answers: { ...queued('The challenge is queued.', testQueued), 404: noSubscription },
  }),
  rotateAlertSecret: handler('POST', 'partner', {
    path: `${apiPrefix}/alerts/subscriptions/{id}/rotate`,
    summary: 'Replace the secret of a webhook',
    description:
      'For 24 hours `webhook-signature` contains two signatures, by the new secret and by the one before, separated by a space; libraries of Standard Webhooks accept either. An older secret is void at once, so two rotations void a secret that others know.',
    params: { id },
    body: emptyBody,
    answers: {
      ...created('Replaced. The secret is shown only in this answer.', rotatedSecret),
      404: noSubscription,
    },
  }),
  testAlerts: handler('POST', 'partner', {
    path: `${apiPrefix}/alerts/subscriptions/{id}/test`,
    summary: 'Send a test delivery to a webhook',
    description:
      'Enqueues a delivery of the type `test`, which is signed and retried like any other. Only one test can be pending at a time.',
    params: { id },
    body: emptyBody,
    answers: { ...queued('Queued.', testQueued), 404: noSubscription },
  }),
}
