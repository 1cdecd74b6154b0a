/** Alerts, applications, the ranking, and what anybody may say. */
import { callOf } from './call.ts'
import type { BodyOf, QueryOf } from './call.ts'
import type { Caller } from './prepare.ts'
import type { WriteOptions } from './writes.ts'

export function marketCalls(caller: Caller) {
  return {
    arbitrage: () => callOf(caller, 'getArbitrage', { partner: 'v1' }),
    applyToRail: (body: BodyOf<'applyToRail'>, options: WriteOptions = {}) =>
      callOf(caller, 'applyToRail', { body, partner: 'v2', ...options }),
    alertFeed: (query: QueryOf<'getAlertFeed'> = {}) =>
      callOf(caller, 'getAlertFeed', { query, partner: 'v1' }),
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
