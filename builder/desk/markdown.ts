import { usdcOrNull } from '../../src/core/money.ts'
import { amount, count } from '../../src/pages/figures.ts'

/** A GFM table of Markdown cells; `right` lists the right-aligned columns. */
export function markdownTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
): string {
  const rule = header.map((_, index) => (right.includes(index) ? '---:' : '---'))
  return [header, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('')
}

export function usdcText(amountMicroUsdc: number | null): string {
  return amount(usdcOrNull(amountMicroUsdc)).md
}

export function countText(value: number | null): string {
  return count(value).md
}

export function change(start: string, end: string): string {
  return start === end ? end : `${start} → ${end}`
}
