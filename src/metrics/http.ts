import type { Clock } from '../core/deps.ts'
/** What is counted of requests. The label of a route is a template of the registry and never what a caller sent. */
import type { PolicyName } from '../core/limits.ts'
import { METHODS } from '../http/gate.ts'
import type { RequestLine } from '../http/request-log.ts'
import { patternOf } from '../http/route-table.ts'
import { concurrencyLimitNames } from '../limits/concurrency-limits.ts'
import type { ConcurrencyLimitName } from '../limits/concurrency-limits.ts'
import type { MetricCell, HistogramCell, Meter } from './meter.ts'
import { observe } from './meter.ts'

/** Told of everything that goes through the front door. Called on the way of every request: it may not wait. */
export interface HttpObserver {
  readonly answered: (line: RequestLine) => void
  /** Work began that may wait for something; and it ended. */
  readonly began: () => void
  readonly ended: () => void
  /** A policy refused a request. */
  readonly limited: (policy: PolicyName) => void
  /** A room was full, and a request was refused for it. */
  readonly shed: (limit: ConcurrencyLimitName) => void
  /** Bytes came that were no request. */
  readonly malformed: () => void
}

interface Deps {
  readonly meter: Meter
  readonly clock: Pick<Clock, 'monotonic'>
  /** Templates of all routes, `{name}` for parameters. */
  readonly templates: readonly string[]
  /** Whether a path outside of the registry is a page, or what a page loads. */
  readonly isPage: (path: string) => boolean
}

/** Paths whose route is remembered: more than there are documents in most sets, and bounded. */
const MAX_REMEMBERED = 8192
/** Longer ones are looked up each time: no document has one, and a part of a text keeps the whole alive. */
const MAX_TARGET_LENGTH = 300

interface RouteCells {
  readonly route: string
  readonly seconds: HistogramCell
  /** By method and class of status. */
  readonly counts: Map<string, MetricCell>
}

export function createHttpObserver({ meter, clock, templates, isPage }: Deps): HttpObserver {
  const exact = new Set(templates.filter((template) => !template.includes('{')))
  const patterns = [...new Set(templates)]
    .filter((template) => template.includes('{'))
    .map((template) => ({ template, pattern: patternOf(template) }))
  const byRoute = new Map<string, RouteCells>()
  let byPath = new Map<string, RouteCells>()
  const inFlight = meter.gauge('ledger_http_in_flight', {})
  const malformed = meter.counter('ledger_http_malformed_total', {})
  const offered = meter.counter('ledger_payments_offered_total', {})
  const unavailable = meter.counter('ledger_http_unavailable_total', {})
  // From the start, so that a rate sees the first.
  for (const limit of concurrencyLimitNames) meter.counter('ledger_requests_shed_total', { limit })

  const routeOf = (path: string): string => {
    if (exact.has(path)) return path
    const found = patterns.find(({ pattern }) => pattern.test(path))
    return found?.template ?? (isPage(path) ? 'page' : 'unknown')
  }
  const cellsOf = (target: string): RouteCells => {
    const mark = target.indexOf('?')
    const path = mark === -1 ? target : target.slice(0, mark)
    const known = byPath.get(path)
    if (known !== undefined) return known
    const route = routeOf(path)
    const cells = byRoute.get(route) ?? {
      route,
      seconds: meter.histogram('ledger_http_request_seconds', { route }),
      counts: new Map<string, MetricCell>(),
    }
    byRoute.set(route, cells)
    // What does not exist is not remembered: pages come into being, and made-up paths are without end.
    if (route !== 'unknown' && target.length <= MAX_TARGET_LENGTH) {
      if (byPath.size >= MAX_REMEMBERED) byPath = new Map()
      byPath.set(path, cells)
    }
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
    answered: ({ method, target, status, startedMs }) => {
      const cells = cellsOf(target)
      countOf(cells, method, status).value += 1
      observe(cells.seconds, (clock.monotonic() - startedMs) / 1000)
      if (status === 402) offered.value += 1
      if (status === 503) unavailable.value += 1
    },
    began: () => {
      inFlight.value += 1
    },
    ended: () => {
      inFlight.value -= 1
    },
    limited: (policy) => {
      meter.counter('ledger_limiter_refusals_total', { policy }).value += 1
    },
    shed: (limit) => {
      meter.counter('ledger_requests_shed_total', { limit }).value += 1
    },
    malformed: () => {
      malformed.value += 1
    },
  }
}
