import { privateHandler, toBePaid } from '../answers.ts'
import { apiPrefix, json } from '../route.ts'
import type { Parameter, Route } from '../route.ts'
import {
  alertFeed,
  deliveryList,
  deliveryStatus,
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
import { timeInput } from '../schemas/input.ts'
import { emptyBody } from '../schemas/job.ts'

const id = {
  schema: subscriptionId,
  description: 'The `id` of a subscription of the calling wallet.',
  example: 'sub_9f2c41d07a6be8053c1d2e4f',
} as const satisfies Parameter
const noSubscription = { description: 'The wallet has no such subscription.' }
const repeated = 'An exact repeat; the first answer.'
const limit = {
  schema: limitInput,
  description: 'Entries at most, 1 to 200; 50 without it.',
  example: '50',
} as const satisfies Parameter

/** What happens to the ledger, pulled or delivered. */
export const alertRoutes = [
  {
    id: 'getAlertFeed',
    method: 'GET',
    path: `${apiPrefix}/alerts/feed`,
    tag: 'Alerts',
    access: 'partner',
    price: '0.002',
    summary: 'Flags and rail transitions since a time',
    description:
      'Oldest first. No two events carry the same `created_at`, and a later one never carries an earlier time: who asks again with `next_poll_hint.since` misses nothing and sees nothing twice. Without `since` the feed begins with the first event.',
    query: {
      since: {
        schema: timeInput,
        description: 'Only events after this time; `next_poll_hint.since` of the answer before.',
        example: '2026-11-20T00:00:00Z',
      },
      rail: { schema: railSlug, description: 'Only events of this rail.', example: 'x402' },
      severity: {
        schema: severity,
        description: 'Only events of this severity.',
        example: 'warning',
      },
      limit,
    },
    answers: {
      200: {
        ...json('The events.', alertFeed),
        example: {
          count: 1,
          events: [
            {
              id: 'evt_4f1a',
              kind: 'rail_transition',
              rail: 'x402',
              severity: 'info',
              title: 'x402 is paying, was dormant',
              data: { from: 'dormant', to: 'paying' },
              created_at: '2026-11-21T06:00:00.000Z',
            },
          ],
          next_poll_hint: { after_seconds: 60, since: '2026-11-21T06:00:00.000Z' },
        },
      },
      402: toBePaid,
    },
    serving: privateHandler,
  },
  {
    id: 'subscribeAlerts',
    method: 'POST',
    path: `${apiPrefix}/alerts/subscribe`,
    tag: 'Alerts',
    access: 'partner',
    summary: 'Have events delivered to a webhook',
    description:
      'Events from now on are posted to `url` after Standard Webhooks: headers `webhook-id`, `webhook-timestamp` and `webhook-signature` (`v1,` and the base64 HMAC-SHA256 of `id.timestamp.body` under the secret), body `{type, timestamp, data}` of less than 20 kB. Any 2xx within 15 s is success. Else it is tried again after 5 s, 5 min, 30 min, 2, 5, 10, 14, 20 and 24 h; 410 disables the subscription. A delivery may come twice: the `webhook-id` tells. At most 10 subscriptions a wallet. An address that leads to one that is not public is never connected to.',
    body: subscribeBody,
    answers: {
      200: json(repeated, subscriptionCreated),
      201: json('Subscribed; the secret is shown here only.', subscriptionCreated),
    },
    serving: privateHandler,
  },
  {
    id: 'listAlertSubscriptions',
    method: 'GET',
    path: `${apiPrefix}/alerts/subscriptions`,
    tag: 'Alerts',
    access: 'partner',
    summary: 'The own subscriptions',
    description: 'Newest first, without their secrets.',
    answers: { 200: json('The subscriptions.', subscriptionList) },
    serving: privateHandler,
  },
  {
    id: 'getAlertSubscription',
    method: 'GET',
    path: `${apiPrefix}/alerts/subscriptions/{id}`,
    tag: 'Alerts',
    access: 'partner',
    summary: 'One of the own subscriptions',
    description: 'Without its secret.',
    params: { id },
    answers: { 200: json('The subscription.', subscription), 404: noSubscription },
    serving: privateHandler,
  },
  {
    id: 'unsubscribeAlerts',
    method: 'DELETE',
    path: `${apiPrefix}/alerts/subscriptions/{id}`,
    tag: 'Alerts',
    access: 'partner',
    summary: 'End a subscription',
    description: 'With everything that waits to be delivered, and the record of what was.',
    params: { id },
    answers: { 200: json('Deleted.', subscriptionRemoved), 404: noSubscription },
    serving: privateHandler,
  },
  {
    id: 'listAlertDeliveries',
    method: 'GET',
    path: `${apiPrefix}/alerts/subscriptions/{id}/deliveries`,
    tag: 'Alerts',
    access: 'partner',
    summary: 'What was and is to be delivered',
    description:
      'Newest first. Finished deliveries are kept for 30 days. `dead` ones were given up after ten attempts or a 410; their payload is here, and the feed has the events.',
    params: { id },
    query: {
      status: {
        schema: deliveryStatus,
        description: 'Only deliveries in this state.',
        example: 'dead',
      },
      limit,
    },
    answers: { 200: json('The deliveries.', deliveryList), 404: noSubscription },
    serving: privateHandler,
  },
  {
    id: 'testAlerts',
    method: 'POST',
    path: `${apiPrefix}/alerts/subscriptions/{id}/test`,
    tag: 'Alerts',
    access: 'partner',
    summary: 'Send a test to the webhook',
    description:
      'A delivery of the type `test`, signed and tried again like any other. One at a time.',
    params: { id },
    body: emptyBody,
    answers: {
      200: json(repeated, testQueued),
      202: json('In the outbox.', testQueued),
      404: noSubscription,
    },
    serving: privateHandler,
  },
] as const satisfies readonly Route[]
