/** Webhooks and applications of partners. */
import type { RequestFacts, Of } from './intent.ts'
import { writerOf } from './partners.ts'
import { iso } from './reading.ts'
import type { State } from './state.ts'
import { refused } from './verdict.ts'
import type { Body, Success, Verdict } from './verdict.ts'

const mostSubscriptions = 10

export function subscribe(state: State, request: Of<'subscribe'>, nowMs: number): Verdict {
  const { wallet, intent } = request
  const { url, rails } = intent
  return asPartner(state, request, nowMs, (audited) => {
    const own = [...state.subscriptions.values()].filter((one) => one.wallet === wallet)
    if (own.length >= mostSubscriptions) return refused('refused')
    const answer = { url, rails, severity: null, status: 'active', created_at: iso(nowMs) }
    return audited('subscribeAlerts', { status: 201, answer }, (next, { id }) => {
      const afterSeq = next.events.at(-1)?.seq ?? 0
      const facts = { wallet, url, rails, atMs: nowMs, afterSeq }
      next.subscriptions.set(String(id), { ...facts, isDisabled: false })
    })
  })
}

/** Deletes its pending deliveries, too. */
export function unsubscribe(state: State, request: Of<'unsubscribe'>, nowMs: number): Verdict {
  const { id } = request.intent
  return asPartner(state, request, nowMs, (audited) => {
    if (state.subscriptions.get(id)?.wallet !== request.wallet)
      return refused('unknown_subscription')
    const answer = { id, status: 'deleted' }
    return audited('unsubscribeAlerts', { status: 200, answer }, (next) => {
      next.subscriptions.delete(id)
      for (const [delivery, { subscription }] of next.webhookDeliveries) {
        if (subscription === id) next.webhookDeliveries.delete(delivery)
      }
    })
  })
}

export function testAlerts(state: State, request: Of<'try'>, nowMs: number): Verdict {
  const { id } = request.intent
  return asPartner(state, request, nowMs, (audited) => {
    const found = state.subscriptions.get(id)
    if (found?.wallet !== request.wallet) return refused('unknown_subscription')
    const hasTest = [...state.webhookDeliveries.values()].some(
      ({ subscription, eventSeq, status }) =>
        subscription === id && eventSeq === null && status === 'pending',
    )
    if (found.isDisabled || hasTest) return refused('conflict')
    const answer = { status: 'pending' }
    return audited('testAlerts', { status: 202, answer }, (next, { delivery_id: delivery }) => {
      next.webhookDeliveries.set(String(delivery), {
        subscription: id,
        eventSeq: null,
        type: 'test',
        status: 'pending',
        attempts: 0,
        fence: 0,
        leasedUntilMs: null,
      })
    })
  })
}

/** No rail accepts applications from here. */
export function apply(state: State, request: Of<'apply'>, nowMs: number): Verdict {
  const { rail, worker } = request.intent
  return asPartner(state, request, nowMs, (audited) => {
    const answer = { rail, mode: 'manual', outcome: 'manual', submitted_at: iso(nowMs) }
    return audited('applyToRail', { status: 201, answer }, (next, { application_id: id }) => {
      const by = request.wallet
      next.applications.push([String(id), by, rail, worker, 'manual', iso(nowMs)])
    })
  })
}

type Audited = (
  action: string,
  taken: Pick<Success, 'status' | 'answer'>,
  write: (next: State, answer: Body) => void,
) => Success

/** Decides for the partner who signed; a success is added to the audit log. */
function asPartner(
  state: State,
  request: RequestFacts,
  nowMs: number,
  decide: (audited: Audited) => Verdict,
): Verdict {
  const writer = writerOf(state, request, nowMs)
  if ('kind' in writer) return writer
  return decide((action, taken, write) => ({
    kind: 'success',
    ...taken,
    write: (next, answer) => {
      write(next, answer)
      next.audit.push(['write', request.wallet, writer.handle, action, iso(nowMs)])
    },
  }))
}
