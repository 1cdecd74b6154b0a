/** Alerts, applications, the ranking, and what anybody may say. */
import { callOf } from './call.ts'
import type { BodyOf, PayOptions, QueryOf } from './call.ts'
import { partnerIfAny } from './prepare.ts'
import type { Caller } from './prepare.ts'
import type { WriteOptions } from './writes.ts'

export function marketCalls(caller: Caller) {
  return {
    /** Sold: by a partner whose tier covers it, or paid for. @throws PaymentRequiredError */
    arbitrage: (pay: PayOptions = {}) =>
      callOf(caller, 'getArbitrage', { ...partnerIfAny(caller), ...pay }),
    applyToRail: (body: BodyOf<'applyToRail'>, options: WriteOptions = {}) =>
      callOf(caller, 'applyToRail', { body, partner: 'v2', ...options }),
    /** Sold, as `arbitrage`. */
    alertFeed: (query: QueryOf<'getAlertFeed'> = {}, pay: PayOptions = {}) =>
      callOf(caller, 'getAlertFeed', { query, ...partnerIfAny(caller), ...pay }),
    subscribeAlerts: (body: BodyOf<'subscribeAlerts'>, options: WriteOptions = {}) =>
      callOf(caller, 'subscribeAlerts', { body, partner: 'v2', ...options }),
    alertSubscriptions: () => callOf(caller, 'listAlertSubscriptions', { partner: 'v1' }),
    alertSubscription: (id: string) =>
      callOf(caller, 'getAlertSubscription', { params: { id }, partner: 'v1' }),
    alertDeliveries: (id: string, query: QueryOf<'listAlertDeliveries'> = {}) =>
      callOf(caller, 'listAlertDeliveries', { params: { id }, query, partner: 'v1' }),
    /** Asks for a test delivery. */
    testAlerts: (id: string, options: WriteOptions = {}) =>
      callOf(caller, 'testAlerts', { params: { id }, body: {}, partner: 'v2', ...options }),
    unsubscribeAlerts: (id: string) =>
      callOf(caller, 'unsubscribeAlerts', { params: { id }, partner: 'v2' }),
    submitFeedback: (body: BodyOf<'submitFeedback'>, options: WriteOptions = {}) =>
      callOf(caller, 'submitFeedback', { body, ...options }),
    proposeSkill: (body: BodyOf<'proposeSkill'>, options: WriteOptions = {}) =>
      callOf(caller, 'proposeSkill', { body, ...options }),
  } as const
}
