import { dayMs, hourMs, minuteMs } from './time.ts'

/** The days of a rail that are to be read, and how far they are. Times in Unix milliseconds. */
export interface DaysRead {
  readonly fromMs: number
  readonly toMs: number
  readonly readUntilMs: number
}

/** Reading progress of a rail with more than a day to read, as at the first start. */
export interface Backfill extends DaysRead {
  /** Estimate of the time left; null until the speed is known. */
  readonly leftMs: number | null
}

/** 0 to 100, rounded down. */
export function percentRead({ fromMs, toMs, readUntilMs }: DaysRead): number {
  const share = (readUntilMs - fromMs) / Math.max(1, toMs - fromMs)
  return Math.floor(100 * Math.min(1, Math.max(0, share)))
}

/** Such as `12 of 30 days read`. */
export function daysReadText({ fromMs, toMs, readUntilMs }: DaysRead): string {
  const days = Math.round((toMs - fromMs) / dayMs)
  return `${Math.min(days, Math.floor((readUntilMs - fromMs) / dayMs))} of ${days} days read`
}

/** Such as `about 8 min left`; null if the speed is unknown. */
export function leftText(leftMs: number | null): string | null {
  if (leftMs === null) return null
  return leftMs < 2 * hourMs
    ? `about ${Math.ceil(leftMs / minuteMs)} min left`
    : `about ${Math.round(leftMs / hourMs)} h left`
}
