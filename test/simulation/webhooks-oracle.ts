/** Oracle of webhooks: rows of the outbox, requests that leave, requests that arrive. */
import { z } from 'zod'

import { emptyState } from './model/state.ts'
import type { WebhookDelivery, State } from './model/state.ts'
import { findInvalidDelivery, newsBetween } from './model/webhook-deliveries.ts'
import type { Post, DeliveryOutcome } from './receivers.ts'

const text = z.string()
const time = text.transform((stamp) => Date.parse(stamp))
export const outboxRows = z.object({
  events: z.array(
    z.tuple([z.number(), text, text, text.nullable()]).transform(([seq, id, kind, rail]) => ({
      seq,
      id,
      kind,
      rail,
    })),
  ),
  cursor: z.coerce.number(),
  disabled: z.array(z.tuple([text])),
  webhookDeliveries: z.array(
    z.object({
      id: text,
      subscription: text,
      eventSeq: z.number().nullable(),
      type: text,
      status: z.enum(['pending', 'delivered', 'dead']),
      attempts: z.number(),
      fence: z.number(),
      leasedUntilMs: time.nullable(),
    }),
  ),
})

export interface WebhooksOracle {
  /** Applies changes of the outbox. Returns true if there were any. */
  readonly observe: (found: z.infer<typeof outboxRows>, state: State) => boolean
  readonly leaves: (post: Post) => void
  readonly arrives: (post: Post) => void
  readonly hears: (id: string, told: DeliveryOutcome) => void
  readonly putBack: (state: State) => void
  readonly isBehind: () => boolean
}

export function createWebhooksOracle(given: {
  readonly fail: (what: string) => void
  readonly log: (line: string) => void
  readonly secretOf: (id: string) => string
  readonly nowMs: () => number
  readonly tally: Record<'delivered', number>
}): WebhooksOracle {
  const { fail, log, tally } = given
  let state = emptyState()
  /** Leased deliveries: each lease allows one request. */
  const leased = new Map<string, { readonly delivery: WebhookDelivery; readonly url: string }>()
  const under = new Map<string, { readonly delivery: WebhookDelivery; readonly url: string }>()
  const sent = new Map<string, number>()
  const told = new Map<string, readonly DeliveryOutcome[]>()

  function begins(id: string, delivery: WebhookDelivery, isNews: boolean): void {
    const { subscription, status, attempts } = delivery
    const isFresh = status === 'pending' && attempts === 0
    const isTwice = [...state.webhookDeliveries].some(
      ([other, one]) =>
        other !== id && one.subscription === subscription && one.eventSeq === delivery.eventSeq,
    )
    if (!isFresh || !isNews || isTwice) fail(`the delivery ${id} should not be`)
  }

  function goesOn(
    id: string,
    rows: ReadonlyMap<string, WebhookDelivery>,
    [before, after]: readonly [WebhookDelivery, WebhookDelivery],
  ): void {
    const { subscription } = after
    const others = [...rows].filter(
      ([other, one]) => other !== id && one.subscription === subscription,
    )
    const what = findInvalidDelivery(before, after, {
      told: told.get(id) ?? [],
      sent: sent.get(id) ?? 0,
      isEnded: state.subscriptions.get(subscription)?.isDisabled === true,
      othersUntilMs: Math.max(
        ...others.map(([, one]) => (one.status === 'pending' ? (one.leasedUntilMs ?? 0) : 0)),
        0,
      ),
    })
    if (what !== null) fail(`the delivery ${id}: ${what}`)
    if (after.fence > before.fence) {
      const url = state.subscriptions.get(subscription)?.url ?? ''
      leased.set(id, { delivery: after, url })
    }
    if (after.status === 'delivered') tally.delivered += 1
  }

  return {
    observe: (found, now) => {
      state = now
      const fresh = found.events.filter(({ seq }) => seq > (state.events.at(-1)?.seq ?? 0))
      state.events.push(...fresh)
      const ended = found.disabled
        .map(([id]) => id)
        .filter((id) => state.subscriptions.get(id)?.isDisabled === false)
      for (const id of ended) {
        const one = state.subscriptions.get(id)
        const isTold = [...state.webhookDeliveries].some(
          ([delivery, { subscription }]) =>
            subscription === id && told.get(delivery)?.includes('gone') === true,
        )
        if (!isTold) fail(`${id} ends, and nobody has asked for that`)
        if (one !== undefined) state.subscriptions.set(id, { ...one, isDisabled: true })
      }
      // Nobody was disabled in the same commit that moves the cursor.
      const news = new Set(newsBetween(state, state.toldSeq, found.cursor))
      const hasMoved = found.cursor !== state.toldSeq
      if (found.cursor < state.toldSeq) fail('the cursor over events goes back')
      state.toldSeq = found.cursor
      let hasChanged = fresh.length > 0 || ended.length > 0 || hasMoved
      const rows = new Map(found.webhookDeliveries.map(({ id, ...delivery }) => [id, delivery]))
      for (const [id, after] of rows) {
        const before = state.webhookDeliveries.get(id)
        if (JSON.stringify(before) === JSON.stringify(after)) continue
        hasChanged = true
        log(`    the delivery ${id.slice(0, 12)} is ${after.status}, ${after.attempts} attempts`)
        if (before !== undefined) goesOn(id, rows, [before, after])
        else begins(id, after, news.delete(`${after.subscription} ${after.eventSeq ?? ''}`))
        state.webhookDeliveries.set(id, after)
      }
      for (const [id, { status }] of state.webhookDeliveries) {
        if (rows.has(id)) continue
        hasChanged = true
        if (status === 'pending') fail(`the delivery ${id} is dropped, and still waits`)
        state.webhookDeliveries.delete(id)
      }
      for (const one of news) fail(`nobody tells ${one} of an event`)
      return hasChanged
    },
    leaves: ({ id, timestamp }) => {
      if (timestamp !== Math.floor(given.nowMs() / 1000)) fail(`${id} tells another time`)
      const lease = leased.get(id)
      if (lease === undefined) fail(`${id} is sent without a lease`)
      else under.set(id, lease)
      leased.delete(id)
      sent.set(id, (sent.get(id) ?? 0) + 1)
    },
    arrives: ({ id, url, body, isSignedWith }) => {
      const of = under.get(id)
      if (of === undefined) return
      const { subscription, eventSeq, type } = of.delivery
      const event = state.events.find(({ seq }) => seq === eventSeq)
      const { data } = body
      const isRight =
        eventSeq === null
          ? data['subscription_id'] === subscription
          : event !== undefined && data['id'] === event.id && data['rail'] === event.rail
      if (!isRight || body.type !== type || url !== of.url) fail(`${id} brings something else`)
      if (!isSignedWith(given.secretOf(subscription))) fail(`${id} is not signed`)
    },
    hears: (id, what) => told.set(id, [...(told.get(id) ?? []), what]),
    putBack: (put) => {
      state = put
      leased.clear()
    },
    isBehind: () =>
      (state.events.at(-1)?.seq ?? 0) !== state.toldSeq ||
      [...state.webhookDeliveries.values()].some(({ status }) => status === 'pending'),
  }
}
