/** Text that is safe inside a Markdown paragraph, list item or table cell, and figures as readers expect them. */

import { microPerUsdc } from '../../src/core/money.ts'
import { grouped } from '../../src/core/number-text.ts'

/** Names and messages from outside, so that none of their characters is markup. Line ends become spaces. */
export function markdownText(text: string): string {
  return text
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .replace(/[\\`*_[\]<>|~&!]/g, (character) => `\\${character}`)
}

/** A GFM table. Cells are Markdown already; `right` names the columns that hold figures. */
export function markdownTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
): string {
  const rule = header.map((_, index) => (right.includes(index) ? '---:' : '---'))
  return [header, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('')
}

/** `1,204.50`; amounts below a cent keep their six decimals. Null is unknown. */
export function usdcText(amountMicroUsdc: number | null): string {
  if (amountMicroUsdc === null) return 'unknown'
  const belowCent = amountMicroUsdc > 0 && amountMicroUsdc < microPerUsdc / 100
  const decimals = belowCent ? 6 : 2
  return grouped((amountMicroUsdc / microPerUsdc).toFixed(decimals))
}

/** `12,345`. Null is unknown. */
export function countText(count: number | null): string {
  return count === null ? 'unknown' : grouped(String(count))
}

/** `a → b`, or the one value where both are the same. */
export function change(start: string, end: string): string {
  return start === end ? end : `${start} → ${end}`
}
