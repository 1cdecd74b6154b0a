import { amount, count, day, percent, time, timeMs } from './figures.ts'
import type { TimeValue } from './figures.ts'
import { cell } from './table.ts'
import type { TableCell } from './table.ts'

export function amountCell(amountUsdc: number | null): TableCell {
  return cell(amount(amountUsdc), amountUsdc)
}

export function countCell(value: number | null): TableCell {
  return cell(count(value), value)
}

export function percentCell(share: number | null): TableCell {
  return cell(percent(share), share)
}

export function timeCell(at: TimeValue | null, none = 'unknown'): TableCell {
  return at === null ? cell(none, null) : cell(time(at), timeMs(at))
}

export function dayCell(at: TimeValue): TableCell {
  return cell(day(at), timeMs(at))
}
