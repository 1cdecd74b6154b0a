import { z } from 'zod'

import { count, bodyModel, model, railSlug, time, url, text, list, query } from './common.ts'
import { severity } from './flag.ts'
import { httpsInput } from './input.ts'

export const alertKind = z.enum(['flag_opened', 'flag_closed', 'rail_transition'])

export const alertEvent = model('AlertEvent', {
  id: text(80),
  kind: alertKind,
  rail: railSlug.nullable().describe('Null if the event concerns the ledger itself.'),
  severity,
  title: text(300),
  data: z.looseObject({}),
  created_at: time.describe(
    'Unique and increasing with every event; serves as the position in the feed.',
  ),
})
export type AlertEvent = z.infer<typeof alertEvent>

export const alertFeed = model('AlertFeed', {
  query,
  count,
  events: list(alertEvent, 200),
  next_poll_hint: z.object({
    after_seconds: z.int().min(0).max(86_400),
    since: time.describe(
      'The value of `since` for the next request. It skips no event and repeats none.',
    ),
  }),
})

export const leastSeverity =
  'Only events of this severity or a higher one; the order is `info`, `warning`, `critical`. A flag that closes is `info`.'

export const subscribeBody = bodyModel('AlertSubscribeBody', {
  url: httpsInput.describe(
    'Address of the webhook: https on port 443, a public host name. Redirects are not followed.',
  ),
  rails: z
    .array(railSlug)
    .min(1)
    .max(64)
    .optional()
    .describe('Only events of these rails. Default: all rails and the ledger itself.'),
  severity: severity.optional().describe(leastSeverity),
})
export type SubscribeBody = z.infer<typeof subscribeBody>

const subscriptionFields = {
  id: text(80),
  url,
  rails: list(railSlug, 64).nullable(),
  severity: severity.nullable().describe('The lowest severity that is sent; null means all.'),
  status: z
    .enum(['pending', 'active', 'disabled'])
    .describe(
      '`pending`: events wait until the endpoint has answered the challenge. `disabled`: nothing is sent, because the endpoint answered 410 or every attempt within 3 days failed.',
    ),
  created_at: time,
}

export const subscriptionCreated = model('AlertSubscriptionCreated', {
  ...subscriptionFields,
  secret: text(80),
})

export const rotatedSecret = model('AlertSecret', {
  id: text(80),
  secret: text(80),
  secret_version: count.describe('Number of rotations.'),
  previous_valid_until: time.describe(
    'Until then deliveries are also signed with the secret before this one.',
  ),
})

export const subscription = model('AlertSubscription', {
  ...subscriptionFields,
  status_reason: text(300).optional(),
  disabled_at: time.optional(),
  failures: count.optional(),
  failing_since: time.optional(),
  last_error: text(300).optional(),
  paused_until: time.optional(),
})
export type Subscription = z.infer<typeof subscription>

export const subscriptionList = model('AlertSubscriptionList', {
  count,
  total: count,
  subscriptions: list(subscription, 200),
})

export const deliveryStatus = z
  .enum(['pending', 'delivered', 'dead'])
  .describe('`dead`: all attempts failed, or the receiver answered 410.')

export const delivery = model('AlertDelivery', {
  id: text(80).describe('The `webhook-id` of every attempt.'),
  type: text(40),
  status: deliveryStatus,
  attempts: count,
  next_attempt_at: time.optional(),
  last_status: z.int().min(100).max(599).optional(),
  last_error: text(300).optional(),
  created_at: time,
  finished_at: time.optional(),
  payload: text(20_000),
})

export const deliveryList = model('AlertDeliveryList', {
  query,
  count,
  deliveries: list(delivery, 200),
})

export const testQueued = model('AlertTestQueued', {
  delivery_id: text(80),
  status: z.enum(['pending']),
})
export const subscriptionRemoved = model('AlertSubscriptionRemoved', {
  id: text(80),
  status: z.enum(['deleted']),
})

export const subscriptionId = z.string().regex(/^sub_[0-9a-f]{24}$/)
