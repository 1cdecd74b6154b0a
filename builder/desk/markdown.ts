import { microPerUsdc } from '../../src/core/money.ts'
import { grouped } from '../../src/core/number-text.ts'

/** Escapes all markup; line ends become spaces. */
export function markdownText(text: string): string {
  return text
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .replace(/[\\`*_[\]<>|~&!]/g, (character) => `\\${character}`)
}

/** A GFM table of Markdown cells; `right` lists the right-aligned columns. */
export function markdownTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  right: readonly number[] = [],
): string {
  const rule = header.map((_, index) => (right.includes(index) ? '---:' : '---'))
  return [header, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |\n`).join('')
}

/** `1,204.50`; six decimals below a cent. */
export function usdcText(amountMicroUsdc: number | null): string {
  if (amountMicroUsdc === null) return 'unknown'
  const belowCent = amountMicroUsdc > 0 && amountMicroUsdc < microPerUsdc / 100
  const decimals = belowCent ? 6 : 2
  return grouped((amountMicroUsdc / microPerUsdc).toFixed(decimals))
}

export function countText(count: number | null): string {
  return count === null ? 'unknown' : grouped(String(count))
}

export function change(start: string, end: string): string {
  return start === end ? end : `${start} → ${end}`
}
