import { usdcOrNull } from '../../src/core/money.ts'
import { counted } from '../../src/core/number-text.ts'
import { dayMs, isoDate } from '../../src/core/time.ts'
import { amount } from '../../src/pages/figures.ts'
import { lineChart } from '../charts/chart.ts'
import type { RailWeek, Reading } from './rail-week.ts'

export type WeekVolume = NonNullable<ReturnType<typeof weekVolume>>

const dayNames = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']

/** Net if all of these readings know it, or else after the filter rule, so that they can be compared. */
export function volumesOf(readings: readonly (Reading | null)[]) {
  const known = readings.filter((reading) => reading !== null)
  const isNet =
    known.length > 0 && known.every(({ figures }) => figures.tpv30dNetMicroUsdc !== null)
  const name = isNet ? 'tpv30dNetMicroUsdc' : 'tpv30dMicroUsdc'
  return { isNet, values: readings.map((reading) => reading?.figures[name] ?? null) }
}

/** Excludes rails whose volume became known during the week, since it would look like growth. */
export function weekVolume(weekStartMs: number, rails: readonly RailWeek[]) {
  const volumes = rails
    .filter(({ authored }) => authored.category === 'earning')
    .map(({ days }) => volumesOf(days))
  const series = volumes.map(({ values }) => values)
  const days = dayNames.map((name, day) => `${name} ${isoDate(weekStartMs + day * dayMs).slice(5)}`)
  const labels = ['start', ...days]
  const first = labels.findIndex((_, at) => series.some((values) => isKnown(values[at])))
  if (first === -1) return null
  const kept = volumes.filter(({ values }) => values.slice(first).every(isKnown))
  const whole = kept.map(({ values }) => values)
  if (whole.length === 0) return null
  return {
    rails: whole.length,
    netRails: kept.filter(({ isNet }) => isNet).length,
    /** Number of earning rails whose volume became known during the week. */
    leftOut: series.filter((values) => isKnown(values.at(-1))).length - whole.length,
    points: labels.map((label, at) => ({
      label,
      /** Null before the first reading. */
      microUsdc: at < first ? null : whole.reduce((sum, values) => sum + (values[at] ?? 0), 0),
    })),
  }
}

export function usdcText(amountMicroUsdc: number | null): string {
  return amount(usdcOrNull(amountMicroUsdc)).md
}

export function knownVolumes({ points }: WeekVolume): readonly number[] {
  return points.flatMap(({ microUsdc }) => microUsdc ?? [])
}

export function volumeMoved(volume: WeekVolume): boolean {
  return new Set(knownVolumes(volume).map(usdcText)).size > 1
}

export function volumeTitle({ rails }: WeekVolume): string {
  return `30-day volume over ${counted(rails, 'earning rail')}, USDC`
}

export function volumeInWords({ points }: WeekVolume): string {
  return points.map(({ label, microUsdc }) => `${label} ${usdcText(microUsdc)}`).join('; ')
}

export function volumeChart(volume: WeekVolume, week: string): string {
  return lineChart({
    title: `${volumeTitle(volume)}, ${week}`,
    description: `${volumeInWords(volume)}.`,
    points: volume.points.map(({ label, microUsdc }) => ({ label, value: usdcOrNull(microUsdc) })),
  })
}

/** Which volume the total is made of. */
export function volumeKind({ rails, netRails }: WeekVolume): string {
  if (netRails === rails) return 'net'
  return netRails === 0 ? 'filtered' : `net of ${netRails}, filtered of ${rails - netRails}`
}

function isKnown(value: number | null | undefined): value is number {
  return value !== null && value !== undefined
}
