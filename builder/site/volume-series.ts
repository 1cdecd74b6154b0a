/** One volume a day of a rail, which of them a line may join, and why others are missing. */
import { usdcOrNull } from '../../src/core/money.ts'
import { counted } from '../../src/core/number-text.ts'
import { joinedRuns, longestBridge, newestOfEachDay, rhythmOf } from '../../src/core/readings.ts'
import { dayMs } from '../../src/core/time.ts'
import { shortAmount } from '../../src/pages/figures.ts'
import { inline, untrustedText } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from '../../src/pages/html-and-markdown.ts'
import { html, trusted } from '../../src/pages/html.ts'
import { wrap } from '../../src/pages/text-lines.ts'
import { sparkline } from '../charts/page-chart.ts'
import type { PollRecord } from '../world/world.ts'

/** The last successful poll of a day, in USDC. */
export interface DayVolume {
  readonly day: number
  /** Net, or after the filter rule where net is unknown. */
  readonly kept: number | null
  readonly isNet: boolean
  readonly raw: number | null
}

export type VolumeSeries = ReturnType<typeof volumeSeries>

/** `polls` are newest first. */
export function volumeSeries(polls: readonly PollRecord[]) {
  const good = polls.filter(({ figures }) => figures !== null)
  const volumes = newestOfEachDay(good, ({ polledAtMs }) => polledAtMs).map(
    ([day, { figures }]): DayVolume => {
      const net = figures?.tpv30dNetMicroUsdc ?? null
      return {
        day,
        kept: usdcOrNull(net ?? figures?.tpv30dMicroUsdc ?? null),
        isNet: net !== null,
        raw: usdcOrNull(figures?.tpv30dRawMicroUsdc ?? null),
      }
    },
  )
  const rhythm = rhythmOf(volumes.map(({ day }) => day))
  const bridge = longestBridge(rhythm)
  const runsOf = (name: 'kept' | 'raw') =>
    joinedRuns(
      volumes.map((volume) => ({ day: volume.day, value: volume[name] })),
      bridge,
    )
  return { volumes, rhythm, bridge, kept: runsOf('kept'), raw: runsOf('raw') }
}

/** The days between which no volume is known; neither of them is part of the gap. */
export type Gap = readonly [lastKnown: number, nextKnown: number]

/** `from`: the first day with a known volume; `to`: today. */
export function gapsOf(
  { kept, volumes, bridge }: VolumeSeries,
  [from, to]: readonly [from: number, to: number],
): Gap[] {
  const first = kept[0]?.[0]
  const last = kept.at(-1)?.at(-1)
  if (first === undefined || last === undefined) return [[from - 1, to + 1]]
  const between = kept
    .slice(1)
    .map((run, at): Gap => [kept[at]?.at(-1)?.day ?? from, run[0]?.day ?? to])
  const isOpen = to - last.day > bridge || volumes.at(-1)?.kept === null
  return [
    ...(first.day > from ? [[from - 1, first.day] as const] : []),
    ...between,
    ...(isOpen && last.day < to ? [[last.day, to + 1] as const] : []),
  ]
}

export function isInGap(day: number, [last, next]: Gap): boolean {
  return day > last && day < next
}

/** Why no volume is known in a gap. */
export function reasonOf(
  gap: Gap,
  volumes: readonly DayVolume[],
  polls: readonly PollRecord[],
): Inline {
  const failed = polls.filter(
    ({ outcome, polledAtMs }) =>
      outcome === 'failed' && isInGap(Math.floor(polledAtMs / dayMs), gap),
  )
  const unknown = volumes.filter(({ day }) => isInGap(day, gap)).length
  const reasons = [
    failed.length === 0 ? null : failureText(failed),
    unknown === 0
      ? null
      : inline`the polls of ${counted(unknown, 'day')} succeeded, but the volume was unknown`,
  ].filter((reason) => reason !== null)
  const [first, second] = reasons
  if (first === undefined) return 'no poll was made'
  return second === undefined ? first : inline`${first}; ${second}`
}

export function failureText(failed: readonly PollRecord[]): HtmlAndMarkdown {
  const times = new Map<string, number>()
  for (const { error } of failed) times.set(error ?? '', (times.get(error ?? '') ?? 0) + 1)
  const [[error] = ['']] = [...times].toSorted(([, a], [, b]) => b - a)
  const often = times.size > 1 ? ', most often with' : ' with'
  return inline`${counted(failed.length, 'poll')} failed${often} “${untrustedText(wrap(error, 160, 1)[0] ?? '')}”`
}

const sparkDays = 30

/** Sparkline of the kept 30-day volume, with its first and last value. */
export function volumeSpark(polls: readonly PollRecord[], nowMs: number): HtmlAndMarkdown {
  const to = Math.floor(nowMs / dayMs)
  const from = to - sparkDays + 1
  const runs = volumeSeries(
    polls.filter(({ polledAtMs }) => polledAtMs >= (from - sparkDays) * dayMs),
  ).kept
  const known = runs.flat().filter(({ day: at }) => at >= from)
  const [first, last] = [known[0], known.at(-1)]
  if (first === undefined || last === undefined) {
    return { html: html`<span class="sub">no readings</span>`, md: 'no readings' }
  }
  const words =
    known.length === 1
      ? shortAmount(last.value)
      : `${shortAmount(first.value)} → ${shortAmount(last.value)}`
  const title = `30-day volume in USDC over the last ${sparkDays} days: ${words}; ${counted(known.length, 'day')} with a reading; the scale starts at zero`
  return {
    html: html`<span class="spark"
      >${trusted(sparkline(runs, [from, to], title))}<small>${words}</small></span
    >`,
    md: words,
  }
}
