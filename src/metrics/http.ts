/** Request metrics. Route labels are templates of the registry, never paths that a caller sent. */
import type { Clock } from '../core/deps.ts'
import type { PolicyName } from '../core/limits.ts'
import { METHODS } from '../http/gate.ts'
import type { RequestLine } from '../http/request-log.ts'
import { concurrencyLimitNames } from '../limits/concurrency-limits.ts'
import type { ConcurrencyLimitName } from '../limits/concurrency-limits.ts'
import type { MetricCell, HistogramCell, Meter } from './meter.ts'
import { observe } from './meter.ts'

interface Deps {
  readonly meter: Meter
  readonly clock: Pick<Clock, 'monotonic'>
}

interface RouteCells {
  readonly route: string
  readonly seconds: HistogramCell
  readonly counts: Map<string, MetricCell>
}

/** Its functions are called for every request, so they must not block. */
export function createHttpObserver({ meter, clock }: Deps) {
  const byRoute = new Map<string, RouteCells>()
  const inFlight = meter.gauge('ledger_http_in_flight', {})
  const malformed = meter.counter('ledger_http_malformed_total', {})
  const offered = meter.counter('ledger_payments_offered_total', {})
  const unavailable = meter.counter('ledger_http_unavailable_total', {})
  // Created at the start, so that a rate includes the first refusal.
  for (const limit of concurrencyLimitNames) meter.counter('ledger_requests_shed_total', { limit })

  const cellsOf = (route: string): RouteCells => {
    const known = byRoute.get(route)
    if (known !== undefined) return known
    const seconds = meter.histogram('ledger_http_request_seconds', { route })
    const cells: RouteCells = { route, seconds, counts: new Map() }
    byRoute.set(route, cells)
    return cells
  }
  const countOf = (cells: RouteCells, sent: string, code: number): MetricCell => {
    const method = METHODS.has(sent) ? sent : 'other'
    const status = `${Math.floor(code / 100)}xx`
    const key = `${method} ${status}`
    const known = cells.counts.get(key)
    if (known !== undefined) return known
    const { route } = cells
    const cell = meter.counter('ledger_http_requests_total', { method, route, status })
    cells.counts.set(key, cell)
    return cell
  }

  return {
    answered: ({ method, route, status, startedMs }: RequestLine) => {
      const cells = cellsOf(route)
      countOf(cells, method, status).value += 1
      observe(cells.seconds, (clock.monotonic() - startedMs) / 1000)
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
