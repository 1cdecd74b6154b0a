import { html } from './html.ts'
import type { Html } from './html.ts'

/** A value and its limit on one scale, which ends at `most` or a little beyond the larger of the two. */
export function gauge(value: number, limit: number, most: number | null = null): Html {
  const end = most ?? Math.max(value, limit) * 1.15
  const at = (figure: number) => `${Math.min(100, (figure / end) * 100).toFixed(1)}%`
  return html`<svg class="gauge" width="100%" height="10" aria-hidden="true">
    <rect class="track" y="3" width="100%" height="4" />
    <rect class="value" y="3" width="${at(value)}" height="4" />
    <line class="limit" x1="${at(limit)}" x2="${at(limit)}" y2="10" />
  </svg>`
}

export interface IncomeRange {
  readonly low: number
  readonly median: number
  readonly high: number
}

/** The middle half of incomes and their median on a logarithmic scale, which the bars of all ranges share. */
export function rangeBar({ low, median, high }: IncomeRange, all: readonly IncomeRange[]): Html {
  const least = Math.max(Math.min(...all.map((range) => range.low)), 1e-6)
  const most = Math.max(...all.map((range) => range.high))
  const span = Math.log(Math.max(most, least * 10) / least)
  const at = (value: number) => (Math.log(Math.max(value, least) / least) / span) * 96 + 2
  const [start, end] = [at(low), at(high)]
  return html`<svg class="range" width="100%" height="14" aria-hidden="true">
    <line class="track" y1="7" x2="100%" y2="7" />
    <rect
      x="${start.toFixed(1)}%"
      y="2"
      width="${Math.max(1, end - start).toFixed(1)}%"
      height="10"
    />
    <line class="median" x1="${at(median).toFixed(1)}%" x2="${at(median).toFixed(1)}%" y2="14" />
  </svg>`
}
