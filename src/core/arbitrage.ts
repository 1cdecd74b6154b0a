import type { Figures } from './figures.ts'

const daysOfFigures = 30

/**
 * Micro-USDC that one worker other than the largest earned a day, on average over 30 days; null where a figure for it
 * is unknown or nobody but the largest worker is paid. The largest worker's share is taken out first, because a
 * newcomer does not get it.
 */
export function expectedMicroUsdcPerDay(figures: Figures): number | null {
  const { tpv30dMicroUsdc: volume, uniqueWorkers30d: workers, topWorkerShare: topShare } = figures
  if (volume === null || workers === null || topShare === null || workers < 2) return null
  return Math.floor((volume * (1 - topShare)) / (workers - 1) / daysOfFigures)
}
