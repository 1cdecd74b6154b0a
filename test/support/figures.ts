import { unknownFigures } from '../../src/core/figures.ts'
import type { Figures } from '../../src/core/figures.ts'

/** A healthy rail: six creators, four workers, 1,000 USDC a month. */
export function figures(changes: Partial<Figures> = {}): Figures {
  return {
    ...unknownFigures,
    tpv30dMicroUsdc: 1_000_000_000,
    tpv7dMicroUsdc: 250_000_000,
    tpv30dRawMicroUsdc: 1_200_000_000,
    tpv7dRawMicroUsdc: 260_000_000,
    tpv30dNetMicroUsdc: 950_000_000,
    uniqueCreators30d: 6,
    parties30d: 5,
    uniqueWorkers30d: 4,
    topWorkerShare: 0.4,
    creatorsWithBudget30d: null,
    activity30d: 40,
    lastPayoutAtMs: Date.parse('2026-11-20T12:00:00Z'),
    ...changes,
  }
}

/** Volumes in micro-USDC over 30 and 7 days; the raw ones, before the filter rule, are the same unless given. */
export function volumes(
  tpv30dMicroUsdc: number | null,
  tpv7dMicroUsdc: number | null,
  tpv30dRawMicroUsdc = tpv30dMicroUsdc,
  tpv7dRawMicroUsdc = tpv7dMicroUsdc,
) {
  return { tpv30dMicroUsdc, tpv7dMicroUsdc, tpv30dRawMicroUsdc, tpv7dRawMicroUsdc }
}
