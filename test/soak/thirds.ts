/** Figures of each third of a soak, beside those of an empty server with the same client. */
import { burstRate } from './empty-server.ts'
import type { Asked } from './empty-server.ts'
import type { Request } from './load.ts'
import { within } from './pace.ts'
import type { Pace } from './pace.ts'
import { median, quantile } from './process-samples.ts'
import type { Sample } from './process-samples.ts'

const WINDOWS_OF_A_THIRD = 20
export const windowsOf = 3 * WINDOWS_OF_A_THIRD

export interface Third {
  /** Done requests relative to the requested rate; above 1 if delayed requests follow later. */
  readonly doneShare: number
  /** Rate of the empty server, relative to its rate while the capacity was measured. */
  readonly machine: number
  /** CPU time of all threads of the service per request. */
  readonly cpuMs: number
  /** Median p99 of the windows in which requests left on time; NaN without one. */
  readonly p99Ms: number
  readonly emptyP99Ms: number
  /** Share of windows with late requests. */
  readonly lateShare: number
  readonly payments: number
}

export interface Span {
  readonly fromMs: number
  readonly toMs: number
}

export interface Measured {
  readonly pace: Pace
  readonly requests: readonly Request[]
  readonly service: readonly Sample[]
  readonly asked: Asked
  readonly emptyRate: number
  /** Forced garbage collections, which stop all threads. Their windows are ignored. */
  readonly weighings: readonly Span[]
}

export function thirdsOf(measured: Measured): readonly [Third, Third, Third] {
  return [thirdOf(measured, 0), thirdOf(measured, 1), thirdOf(measured, 2)]
}

const isPaid = ({ kind, status }: Request): boolean => kind === 'payment' && status === 200

function thirdOf(measured: Measured, at: number): Third {
  const { pace, service, asked, emptyRate, weighings } = measured
  // Payments wait for each other and for the chain; only their number is checked.
  const requests = measured.requests.filter(({ kind }) => kind !== 'payment')
  const thirdMs = (pace.toMs - pace.fromMs) / 3
  const fromMs = pace.fromMs + at * thirdMs
  const isIn = within(fromMs, fromMs + thirdMs)
  const done = pace.doneMs.filter(isIn).length
  const bursts = asked.bursts.filter((burst) => isIn(burst.fromMs))
  const samples = service.filter(({ atMs }) => isIn(atMs))
  const [first, last] = [samples[0], samples.at(-1)]
  if (first === undefined || last === undefined) throw new Error('the service was not watched')

  const isBurst = ({ atMs, tookMs }: { readonly atMs: number; readonly tookMs: number }) =>
    bursts.some((burst) => atMs >= burst.fromMs && atMs - tookMs < burst.toMs)
  const windowMs = thirdMs / WINDOWS_OF_A_THIRD
  const windows = Array.from({ length: WINDOWS_OF_A_THIRD }, (_, window) => ({
    fromMs: fromMs + window * windowMs,
    toMs: fromMs + (window + 1) * windowMs,
  }))
    .filter((one) => !weighings.some(({ fromMs, toMs }) => fromMs < one.toMs && toMs > one.fromMs))
    .map((one) => within(one.fromMs, one.toMs))
  const onTime = windows.filter((isInWindow) => !pace.lateMs.some(isInWindow))
  const inWindow = <One extends { readonly atMs: number; readonly tookMs: number }>(
    some: readonly One[],
    isInWindow: (atMs: number) => boolean,
  ) => some.filter((one) => isInWindow(one.atMs) && !isBurst(one))
  const tookMs = onTime.flatMap((isInWindow) =>
    inWindow(asked.probes, isInWindow).map((one) => one.tookMs),
  )
  return {
    doneShare: done / (((pace.perSecond ?? 0) * thirdMs) / 1000),
    machine: burstRate(bursts) / emptyRate,
    cpuMs: (last.cpuMs - first.cpuMs) / pace.doneMs.filter(within(first.atMs, last.atMs)).length,
    p99Ms: median(
      onTime.map((isInWindow) =>
        quantile(
          inWindow(requests, isInWindow).map((one) => one.tookMs),
          0.99,
        ),
      ),
    ),
    emptyP99Ms: quantile(tookMs, 0.99),
    payments: measured.requests.filter((one) => isPaid(one) && isIn(one.atMs)).length,
    lateShare: 1 - onTime.length / windows.length,
  }
}
