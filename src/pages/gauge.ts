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
