import { dayMs } from './time.ts'

/** Reading progress of a rail with more than a day to read, as at the first start. Times in Unix milliseconds. */
export interface Backfill {
  readonly fromMs: number
  readonly toMs: number
  readonly readUntilMs: number
}

/** 0 to 100, rounded down. */
export function percentRead({ fromMs, toMs, readUntilMs }: Backfill): number {
  const share = (readUntilMs - fromMs) / Math.max(1, toMs - fromMs)
  return Math.floor(100 * Math.min(1, Math.max(0, share)))
}

/** Such as `12 of 30 days read`. */
export function daysReadText({ fromMs, toMs, readUntilMs }: Backfill): string {
  const days = Math.round((toMs - fromMs) / dayMs)
  return `${Math.min(days, Math.floor((readUntilMs - fromMs) / dayMs))} of ${days} days read`
}
