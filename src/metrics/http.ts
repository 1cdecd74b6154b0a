/** Request metrics. Route labels are templates of the registry, never paths that a caller sent. */
import type { Clock } from '../core/deps.ts'
import type { PolicyName } from '../core/limits.ts'
import { memoized } from '../core/remember.ts'
import { METHODS } from '../http/gate.ts'
import type { RequestLine } from '../http/request-log.ts'
import { concurrencyLimitNames } from '../limits/concurrency-limits.ts'
import type { ConcurrencyLimitName } from '../limits/concurrency-limits.ts'
import type { Meter } from './meter.ts'
import { observe } from './meter.ts'

interface Deps {
  readonly meter: Meter
  readonly clock: Pick<Clock, 'monotonic'>
}

/** Its functions are called for every request, so they must not block. */
export function createHttpObserver({ meter, clock }: Deps) {
  const inFlight = meter.gauge('ledger_http_in_flight', {})
  const malformed = meter.counter('ledger_http_malformed_total', {})
  const offered = meter.counter('ledger_payments_offered_total', {})
  const unavailable = meter.counter('ledger_http_unavailable_total', {})
  // Created at the start, so that a rate includes the first refusal.
  for (const limit of concurrencyLimitNames) meter.counter('ledger_requests_shed_total', { limit })

  const cellsOf = memoized((route: string) => {
    const countOf = memoized((answered: string) => {
      const [method = '', status = ''] = answered.split(' ')
      return meter.counter('ledger_http_requests_total', { method, route, status })
    })
    return { countOf, seconds: meter.histogram('ledger_http_request_seconds', { route }) }
  })

  return {
    answered: ({ method, route, status, startedMs }: RequestLine) => {
      const { countOf, seconds } = cellsOf(route)
      const known = METHODS.includes(method) ? method : 'other'
      countOf(`${known} ${Math.floor(status / 100)}xx`).value += 1
      observe(seconds, (clock.monotonic() - startedMs) / 1000)
      if (status === 402) offered.value += 1
      if (status === 503) unavailable.value += 1
    },
    /** Asynchronous work began or ended. */
    began: () => {
      inFlight.value += 1
    },
    ended: () => {
      inFlight.value -= 1
    },
    limited: (policy: PolicyName) => {
      meter.counter('ledger_limiter_refusals_total', { policy }).value += 1
    },
    shed: (limit: ConcurrencyLimitName) => {
      meter.counter('ledger_requests_shed_total', { limit }).value += 1
    },
    malformed: () => {
      malformed.value += 1
    },
  }
}
