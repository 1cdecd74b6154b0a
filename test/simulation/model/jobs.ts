/** The job exchange: allowed moves by role and status. */
import type { Of } from './intent.ts'
import { issue, lapsed } from './job-ends.ts'
import { writerOf } from './partners.ts'
import { dayMs, iso, statusAt } from './reading.ts'
import type { Job, State } from './state.ts'
import { refused } from './verdict.ts'
import type { Body, Verdict } from './verdict.ts'

export type ExchangeKind = 'post' | 'bid' | 'award' | 'deliver' | 'accept' | 'dispute' | 'cancel'

const mayBe = {
  bid: ['open'],
  award: ['open'],
  deliver: ['awarded'],
  accept: ['delivered', 'disputed'],
  dispute: ['delivered'],
  cancel: ['open', 'awarded'],
} as const
const becomes = {
  bid: 'open',
  award: 'awarded',
  deliver: 'delivered',
  accept: 'accepted',
  dispute: 'disputed',
  cancel: 'cancelled',
} as const

export function exchange(state: State, request: Of<ExchangeKind>, nowMs: number): Verdict {
  const { intent, wallet, display } = request
  const now = iso(nowMs)
  const writer = writerOf(state, request, nowMs)
  if ('kind' in writer) return writer
  const { handle } = writer
  const audited = (action: string, more: (next: State, answer: Body) => void) => ({
    write: (next: State, answer: Body) => {
      more(next, answer)
      next.audit.push(['write', wallet, handle, action, now])
      if (intent.kind === 'deliver') next.audit.push(['write', wallet, handle, action, now])
    },
  })
  if (intent.kind === 'post') {
    const { title, deadlineMs } = intent
    if (deadlineMs <= nowMs || deadlineMs > nowMs + 365 * dayMs) return refused('invalid_input')
    return {
      kind: 'success',
      status: 201,
      answer: { poster: display, title, status: 'open', bids_count: 0, created_at: now },
      ...audited('postJob', (next, answer) => {
        const id = String(answer['id'])
        const none = { awardee: null, deliveredMs: null, receiptId: null }
        const job = { poster: wallet, title, status: 'open', deadlineMs, bids: new Map(), ...none }
        next.jobs.set(id, job)
        next.moves.push([id, 'post', 'poster', wallet, 'open'])
      }),
    }
  }
  const job = state.jobs.get(intent.job)
  if (job === undefined) return refused('unknown_job')
  const isPoster = wallet === job.poster
  const isAwardee = wallet === job.awardee
  const may = {
    bid: !isPoster,
    award: isPoster,
    deliver: isAwardee,
    accept: isPoster,
    dispute: isPoster || isAwardee,
    cancel: isPoster,
  }[intent.kind]
  if (!may) return refused('forbidden')
  const status = statusAt(job, nowMs)
  const allowed: readonly string[] = mayBe[intent.kind]
  if (!allowed.includes(status)) return refused('conflict')
  const isLate = job.deliveredMs !== null && nowMs >= job.deliveredMs + 14 * dayMs
  if (intent.kind === 'dispute' && isLate) return refused('conflict')
  const own = job.bids.get(wallet)
  const role = isPoster
    ? 'poster'
    : isAwardee
      ? 'awardee'
      : own === undefined
        ? 'stranger'
        : 'bidder'
  const put = (next: State, change: Partial<Job>): void => {
    const to = becomes[intent.kind]
    next.jobs.set(intent.job, { ...job, status: to, ...change })
    next.moves.push([intent.job, intent.kind, role, wallet, to])
  }
  switch (intent.kind) {
    case 'bid': {
      const price = { bidder: display, price_usdc: intent.priceMicro / 1e6, status: 'open' }
      return {
        kind: 'success',
        status: own === undefined ? 201 : 200,
        answer: { job_id: intent.job, ...price, updated_at: now },
        ...audited('bidOnJob', (next, answer) => {
          const id = own?.id ?? String(answer['id'])
          const bid = { id, priceMicro: intent.priceMicro, status: 'open' }
          put(next, { bids: new Map([...job.bids, [wallet, bid]]) })
        }),
      }
    }
    case 'award': {
      const taken = [...job.bids].find(([, { id }]) => id === intent.bid)
      if (taken === undefined) return refused('refused')
      return {
        kind: 'success',
        status: 200,
        answer: { id: intent.job, status: 'awarded', awarded_bid: intent.bid },
        ...audited('awardJob', (next) => {
          const bids = new Map(
            [...job.bids].map(([bidder, bid]) => {
              const status = bid.id === intent.bid ? 'awarded' : 'rejected'
              return [bidder, { ...bid, status }] as const
            }),
          )
          put(next, { bids, awardee: taken[0] })
        }),
      }
    }
    case 'deliver':
      return {
        kind: 'success',
        status: 201,
        answer: { job_id: intent.job, deliverer: display, created_at: now },
        ...audited('deliverJob', (next, answer) => {
          put(next, { deliveredMs: nowMs })
          next.deliveries.push([String(answer['id']), intent.job, wallet])
        }),
      }
    case 'accept':
      return {
        kind: 'success',
        status: 200,
        answer: { rep_delta: 0 },
        ...audited('acceptJob', (next, answer) => {
          const receiptId = String(answer['receipt_id'])
          put(next, { deliveredMs: null, receiptId })
          issue(next, intent.job, { job, receiptId, nowMs })
        }),
      }
    case 'dispute':
    case 'cancel':
      break
  }
  return {
    kind: 'success',
    status: 200,
    answer: { id: intent.job, status: becomes[intent.kind] },
    ...audited(`${intent.kind}Job`, (next) => {
      const isOver = intent.kind === 'cancel'
      put(next, { deliveredMs: null, ...(isOver ? { bids: lapsed(job) } : {}) })
    }),
  }
}
