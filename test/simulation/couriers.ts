/** Watches what is delivered by webhook: the rows of the outbox, what leaves, and what arrives. */
import { z } from 'zod'

import { misdelivery, newsBetween } from './model/postings.ts'
import { emptyState } from './model/state.ts'
import type { Posting, State } from './model/state.ts'
import type { Post, Told } from './receivers.ts'

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
  postings: z.array(
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

export interface Couriers {
  /** Takes over what has changed in the outbox. True where anything has. */
  readonly observe: (found: z.infer<typeof outboxRows>, state: State) => boolean
  readonly leaves: (post: Post) => void
  readonly arrives: (post: Post) => void
  readonly hears: (id: string, told: Told) => void
  /** The file was put back. */
  readonly putBack: (state: State) => void
  /** Whether anything waits to be told. */
  readonly isBehind: () => boolean
}

export function createCouriers(given: {
  readonly wrong: (what: string) => void
  readonly log: (line: string) => void
  /** The secret of a webhook, by its id. */
  readonly secretOf: (id: string) => string
  readonly nowMs: () => number
  readonly tally: Record<'delivered', number>
}): Couriers {
  const { wrong, log, tally } = given
  let state = emptyState()
  /** Deliveries as they were leased: each lease is good for one request. */
  const leased = new Map<string, { readonly posting: Posting; readonly url: string }>()
  const under = new Map<string, { readonly posting: Posting; readonly url: string }>()
  const sent = new Map<string, number>()
  const told = new Map<string, readonly Told[]>()

  function begins(id: string, posting: Posting, isNews: boolean): void {
    const { subscription, status, attempts } = posting
    const isFresh = status === 'pending' && attempts === 0
    const isTwice = [...state.postings].some(
      ([other, one]) =>
        other !== id && one.subscription === subscription && one.eventSeq === posting.eventSeq,
    )
    if (!isFresh || !isNews || isTwice) wrong(`the delivery ${id} should not be`)
  }

  function goesOn(
    id: string,
    rows: ReadonlyMap<string, Posting>,
    [before, after]: readonly [Posting, Posting],
  ): void {
    const { subscription } = after
    const others = [...rows].filter(
      ([other, one]) => other !== id && one.subscription === subscription,
    )
    const what = misdelivery(before, after, {
      told: told.get(id) ?? [],
      sent: sent.get(id) ?? 0,
      isEnded: state.subscriptions.get(subscription)?.isDisabled === true,
      othersUntilMs: Math.max(
        ...others.map(([, one]) => (one.status === 'pending' ? (one.leasedUntilMs ?? 0) : 0)),
        0,
      ),
    })
    if (what !== null) wrong(`the delivery ${id}: ${what}`)
    if (after.fence > before.fence) {
      const url = state.subscriptions.get(subscription)?.url ?? ''
      leased.set(id, { posting: after, url })
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
        const isTold = [...state.postings].some(
          ([posting, { subscription }]) =>
            subscription === id && told.get(posting)?.includes('gone') === true,
        )
        if (!isTold) wrong(`${id} ends, and nobody has asked for that`)
        if (one !== undefined) state.subscriptions.set(id, { ...one, isDisabled: true })
      }
      // Nobody was disabled in the same commit that moves the cursor.
      const news = new Set(newsBetween(state, state.toldSeq, found.cursor))
      const hasMoved = found.cursor !== state.toldSeq
      if (found.cursor < state.toldSeq) wrong('the cursor over events goes back')
      state.toldSeq = found.cursor
      let hasChanged = fresh.length > 0 || ended.length > 0 || hasMoved
      const rows = new Map(found.postings.map(({ id, ...posting }) => [id, posting]))
      for (const [id, after] of rows) {
        const before = state.postings.get(id)
        if (JSON.stringify(before) === JSON.stringify(after)) continue
        hasChanged = true
        log(`    the delivery ${id.slice(0, 12)} is ${after.status}, ${after.attempts} attempts`)
        if (before !== undefined) goesOn(id, rows, [before, after])
        else begins(id, after, news.delete(`${after.subscription} ${after.eventSeq ?? ''}`))
        state.postings.set(id, after)
      }
      for (const [id, { status }] of state.postings) {
        if (rows.has(id)) continue
        hasChanged = true
        if (status === 'pending') wrong(`the delivery ${id} is dropped, and still waits`)
        state.postings.delete(id)
      }
      for (const one of news) wrong(`nobody tells ${one} of an event`)
      return hasChanged
    },
    leaves: ({ id, timestamp }) => {
      if (timestamp !== Math.floor(given.nowMs() / 1000)) wrong(`${id} tells another time`)
      const lease = leased.get(id)
      if (lease === undefined) wrong(`${id} is sent without a lease`)
      else under.set(id, lease)
      leased.delete(id)
      sent.set(id, (sent.get(id) ?? 0) + 1)
    },
    arrives: ({ id, url, body, isSignedWith }) => {
      const of = under.get(id)
      if (of === undefined) return
      const { subscription, eventSeq, type } = of.posting
      const event = state.events.find(({ seq }) => seq === eventSeq)
      const { data } = body
      const isRight =
        eventSeq === null
          ? data['subscription_id'] === subscription
          : event !== undefined && data['id'] === event.id && data['rail'] === event.rail
      if (!isRight || body.type !== type || url !== of.url) wrong(`${id} brings something else`)
      if (!isSignedWith(given.secretOf(subscription))) wrong(`${id} is not signed`)
    },
    hears: (id, what) => told.set(id, [...(told.get(id) ?? []), what]),
    putBack: (put) => {
      state = put
      leased.clear()
    },
    isBehind: () =>
      (state.events.at(-1)?.seq ?? 0) !== state.toldSeq ||
      [...state.postings.values()].some(({ status }) => status === 'pending'),
  }
}
