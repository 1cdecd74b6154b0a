/** Receivers of webhooks: every event arrives, signed, at least once and always under the same id, and nothing else does. */
import { createHmac } from 'node:crypto'

import { OutboundError } from '../../../src/outbound/pinned-fetch.ts'
import type { PinnedFetch } from '../../../src/outbound/pinned-fetch.ts'
import { webhookSecret } from '../../../src/outbound/standard-webhook.ts'
import type { Process } from '../machine.ts'
import type { Run } from '../run.ts'
import type { Watcher } from './ledger.ts'
import type { RowOf, Snapshot } from './snapshot.ts'

const weights = {
  204: 60,
  200: 10,
  500: 12,
  302: 3,
  410: 2,
  stalls: 5,
  'cuts off': 5,
  'cuts off late': 8,
} as const
const leaseMs = 60_000
const failingAllowedMs = 3 * 86_400_000

export type Receivers = ReturnType<typeof createReceivers>

export function createReceivers(
  { machine, chanceFor, installation, fail, tally }: Run,
  current: () => Snapshot,
) {
  const chance = chanceFor('receivers')
  /** Bodies by id, and the ids that a receiver has accepted or answered with 410. */
  const bodies = new Map<string, string>()
  const accepted = new Set<string>()
  const gone = new Set<string>()
  /** Leases that were not yet used; each allows one request. */
  const leased = new Map<string, RowOf<'alert_deliveries'>>()
  /** Events that an enabled webhook has to receive. */
  const owed = new Map<string, { readonly subscription: string; readonly seq: number }>()
  let isCalm = false

  function judge(id: string, headers: Readonly<Record<string, string>>, body: string): void {
    const row = leased.get(id)
    leased.delete(id)
    if (row === undefined) return fail(`${id} is sent without a lease`)
    if ((bodies.get(id) ?? body) !== body || row.payload !== body) fail(`${id} has another body`)
    bodies.set(id, body)
    const secret = webhookSecret(installation.keyedHash, row.subscription_id)
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
    const text = `${id}.${headers['webhook-timestamp'] ?? ''}.${body}`
    const signature = `v1,${createHmac('sha256', key).update(text).digest('base64')}`
    if (headers['webhook-signature'] !== signature) fail(`${id} is not signed`)
  }

  const watcher: Watcher = {
    observe: (changes, { before, after }) => {
      for (const { table, before: old, after: now } of changes) {
        const id = String((now ?? old)?.['id'])
        if (table === 'alert_deliveries') {
          const row = after.alert_deliveries.find((one) => one.id === id)
          const earlier = before.alert_deliveries.find((one) => one.id === id)
          const isLeased = row !== undefined && row.lease_version > (earlier?.lease_version ?? 0)
          if (isLeased) leased.set(id, row)
          const leasedMs = Date.parse(row?.leased_until ?? '') - leaseMs
          const isHeld = Date.parse(earlier?.leased_until ?? '') > leasedMs
          if (isLeased && isHeld && earlier?.attempts === row.attempts)
            fail(`${id} is leased twice`)
          if (row === undefined || row.status === 'pending') continue
          owed.delete(`${row.subscription_id} ${row.event_seq}`)
          if (row.status !== 'delivered' || earlier?.status === 'delivered') continue
          tally.delivered += 1
          if (!accepted.has(id)) fail(`no receiver has accepted ${id}`)
        }
        if (table !== 'alert_subscriptions' || now?.['status'] !== 'disabled') continue
        const isGone = after.alert_deliveries.some(
          (one) => one.subscription_id === id && gone.has(one.id),
        )
        const sinceMs = Date.parse(String(now['failing_since']))
        const isOver = machine.nowMs() - sinceMs >= failingAllowedMs
        if (old?.['status'] !== 'disabled' && !isGone && !isOver)
          fail(`${id} ends without a reason`)
      }
      for (const event of after.events.slice(before.events.length)) {
        for (const webhook of after.alert_subscriptions) {
          const { id, status, rails, after_seq: afterSeq } = webhook
          const isWanted = rails === null || rails.includes(`"${event.rail}"`)
          if (status === 'disabled' || !isWanted || event.seq <= afterSeq) continue
          owed.set(`${id} ${event.seq}`, { subscription: id, seq: event.seq })
        }
      }
    },
  }

  return {
    ...watcher,
    reach:
      (process: Process): PinnedFetch =>
      async ({ headers, body }) => {
        const outcome = isCalm ? '204' : chance.weighted(weights)
        const id = headers['webhook-id'] ?? ''
        judge(id, headers, body)
        return await machine.answer(process, `a receiver: ${outcome}`, () => {
          const status = Number(outcome)
          if (status === 200 || status === 204) accepted.add(id)
          if (status === 410) gone.add(id)
          if (outcome === 'stalls') throw new OutboundError('timeout', 'It took too long')
          if (Number.isNaN(status)) throw new OutboundError('unreachable', 'It cut off')
          // The answer to a challenge is its text, which is the id of the delivery.
          return { status, contentType: null, body: Buffer.from(id) }
        })
      },
    calm: (): void => {
      isCalm = true
    },
    /** A restored file has neither the later leases nor the later events. */
    restore: (): void => {
      leased.clear()
      owed.clear()
    },
    /** Events that have not reached a webhook that still wants them. */
    missing: (): readonly string[] => {
      const webhooks = current().alert_subscriptions.filter(({ status }) => status === 'active')
      const isWanted = ({ subscription, seq }: { subscription: string; seq: number }): boolean =>
        webhooks.some((one) => one.id === subscription && seq > one.after_seq)
      return [...owed].filter(([, event]) => isWanted(event)).map(([name]) => name)
    },
  }
}
