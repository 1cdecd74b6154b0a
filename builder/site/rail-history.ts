/** The volume of a rail over time: a chart of three ranges, why days are missing, and a table of the same values. */
import { pathOf } from '../../src/contract/routes.ts'
import { capitalized, counted, shortNumber } from '../../src/core/number-text.ts'
import { thinned } from '../../src/core/readings.ts'
import { dayMs, isoDate } from '../../src/core/time.ts'
import { list, para, stacked } from '../../src/pages/blocks.ts'
import { amountText, day as dayText } from '../../src/pages/figures.ts'
import { inline, link } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from '../../src/pages/html-and-markdown.ts'
import { html, trusted } from '../../src/pages/html.ts'
import { rangeChart } from '../charts/page-chart.ts'
import type { PollRecord } from '../world/world.ts'
import { failureText, gapsOf, isInGap, reasonOf, volumeSeries } from './volume-series.ts'
import type { DayVolume, Gap, VolumeSeries } from './volume-series.ts'

const tableDays = 90
const maxPoints = 120
const namedGaps = 5

interface History extends VolumeSeries {
  readonly polls: readonly PollRecord[]
  /** The first day with a known volume, and today. */
  readonly span: readonly [from: number, to: number]
  readonly gaps: readonly Gap[]
  /** Every n-th reading of the longest range is drawn. */
  readonly every: number
  readonly names: Names
}

export function volumeHistory(
  rail: string,
  polls: readonly PollRecord[],
  nowMs: number,
): HtmlAndMarkdown {
  const series = volumeSeries(polls)
  const firstDays = [...series.kept, ...series.raw].map(([first]) => first?.day ?? 0)
  if (firstDays.length === 0) return para(nothingRead(polls))
  const span = [Math.min(...firstDays), Math.floor(nowMs / dayMs)] as const
  const every = Math.ceil(series.volumes.length / maxPoints)
  const gaps = gapsOf(series, span)
  const history = { ...series, polls, span, gaps, every, names: namesOf(series) }
  const caption = captionOf(history)
  const values = valueTable(rail, history)
  const ranges = rangesOf(history.span)
  const hasRaw = series.raw.length > 0
  const newest = series.volumes.at(-1)
  return {
    html: html`<figure class="plot">
      <div class="controls">
        ${ranges.length > 1 && rangeButtons(ranges)}
        ${
          hasRaw &&
          html`<label class="check"><input type="checkbox" checked /> Show raw volume</label>`
        }
      </div>
      <p class="readout">${newest && valuesInWords(newest, history.names)}</p>
      ${ranges.map((range) => chartOf(range, history))}
      <figcaption>
        <ul class="legend">
          ${series.kept.length > 0 && html`<li><span class="sw"></span>${history.names.short}</li>`}
          ${hasRaw && html`<li class="raw"><span class="sw r"></span>raw</li>`}
          ${gaps.length > 0 && html`<li><span class="sw g"></span>no reading</li>`}
        </ul>
        ${caption.html}
        <details>
          <summary>Data table</summary>
          ${values.html}
        </details>
      </figcaption>
    </figure>`,
    md: `Chart: ${caption.md}\n\n${values.md}`,
  }
}

function nothingRead(polls: readonly PollRecord[]): Inline {
  const failed = polls.filter(({ outcome }) => outcome === 'failed')
  if (polls.length === 0) return 'This rail has not been polled yet.'
  if (failed.length < polls.length) return 'No poll has shown the volume of this rail yet.'
  return inline`No volume has been read yet: ${failureText(failed)}.`
}

interface Names {
  readonly short: string
  readonly long: string
}

function namesOf({ volumes }: Pick<VolumeSeries, 'volumes'>): Names {
  const known = volumes.filter(({ kept }) => kept !== null)
  const nets = known.filter(({ isNet }) => isNet).length
  if (nets === 0) return { short: 'filtered', long: 'after the filter rule; net volume is unknown' }
  if (nets === known.length)
    return { short: 'net', long: 'net of money that came back to its payers' }
  return { short: 'kept', long: 'net where known, otherwise after the filter rule' }
}

type Range = readonly [id: string, label: string, days: number]

/** A range that shows no more than the one before it is omitted; the widest is last. */
function rangesOf([from, to]: History['span']): readonly Range[] {
  const all = to - from + 1
  return [
    ['30', '30 d', 30],
    ...(all > 30 ? [['90', '90 d', 90] as const] : []),
    ...(all > 90 ? [['all', 'All', all] as const] : []),
  ]
}

function rangeButtons(ranges: readonly Range[]) {
  const chosen = ranges[1]?.[0]
  return html`<fieldset class="seg">
    <legend class="vh">Range</legend>
    ${ranges.map(
      ([id, label]) =>
        html`<label
          ><input
            type="radio"
            name="range"
            value="${id}"
            ${id === chosen ? 'checked' : ''}
          />${label}</label
        >`,
    )}
  </fieldset>`
}

function chartOf([id, label, days]: Range, history: History) {
  const [first, to] = history.span
  const from = Math.min(Math.max(first, to - days + 1), to - 6)
  const shown = history.volumes.filter(({ day }) => day >= from)
  const gaps = history.gaps.filter(([, end]) => end > from)
  const words = [
    `30-day volume in USDC, ${label === 'All' ? `${to - from + 1} days` : label}`,
    `${history.names.short} ${movement(shown.map(({ kept }) => kept))}`,
    `raw ${movement(shown.map(({ raw }) => raw))}`,
    ...gaps.slice(0, namedGaps).map((gap) => `no reading ${daysOfGap(gap).join(' to ')}`),
  ]
  const every = days > tableDays ? history.every : 1
  const { svg, ticks } = rangeChart({ ...history, from, to, gaps, every, label: words.join('; ') })
  return html`<div class="chart c${id}">
    <div class="y" aria-hidden="true">
      ${ticks.toReversed().map((tick) => html`<span>${tick}</span>`)}
    </div>
    <div class="pane" data-from="${from}" data-to="${to}">${trusted(svg)}</div>
    <div class="x" aria-hidden="true">
      ${axisDays(from, to).map((day) => html`<span>${day}</span>`)}
    </div>
  </div>`
}

function movement(values: readonly (number | null)[]): string {
  const known = values.filter((value) => value !== null)
  const [first, last] = [known[0], known.at(-1)]
  if (first === undefined || last === undefined) return 'unknown'
  return known.length === 1 ? shortNumber(first) : `${shortNumber(first)} → ${shortNumber(last)}`
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** At most four days at equal distances: `22 Nov`, or `Nov 2025` if the range is long. */
function axisDays(from: number, to: number): string[] {
  const count = Math.min(to - from, 3)
  return Array.from({ length: count + 1 }, (_, at) => {
    const date = new Date(Math.round(from + (at / Math.max(count, 1)) * (to - from)) * dayMs)
    const month = months[date.getUTCMonth()] ?? ''
    return to - from > 300 ? `${month} ${date.getUTCFullYear()}` : `${date.getUTCDate()} ${month}`
  })
}

const iso = (day: number) => isoDate(day * dayMs)

/** The first and last day without a reading; only one if they are the same. */
function daysOfGap([last, next]: Gap): string[] {
  return last + 1 === next - 1 ? [iso(last + 1)] : [iso(last + 1), iso(next - 1)]
}

function captionOf(history: History): HtmlAndMarkdown {
  const { names, rhythm, bridge, volumes, gaps, every, polls } = history
  const often =
    rhythm === null
      ? 'There is one reading so far.'
      : `Usually read every ${rhythm === 1 ? 'day' : `${rhythm} days`}; the line joins readings up to ${bridge} days apart.`
  const thin = every === 1 ? '' : ` The range “All” shows every ${ordinal(every)} reading.`
  const shown = gaps.toReversed().slice(0, namedGaps)
  const earlier = gaps.length - shown.length
  return stacked([
    para(`30-day volume in USDC, ${names.long}. ${often}${thin}`),
    shown.length === 0
      ? null
      : list([
          ...shown.map((gap) => {
            const [from = '', to] = daysOfGap(gap)
            const dates =
              to === undefined
                ? inline`On ${dayText(from)}`
                : inline`From ${dayText(from)} to ${dayText(to)}`
            return inline`${dates}: ${reasonOf(gap, volumes, polls)}.`
          }),
          ...(earlier === 0 ? [] : [`${counted(earlier, 'earlier gap')}: see the data table.`]),
        ]),
  ])
}

function ordinal(count: number): string {
  const ending = { 1: 'st', 2: 'nd', 3: 'rd' }[count % 10]
  return `${count}${ending === undefined || Math.floor(count / 10) % 10 === 1 ? 'th' : ending}`
}

const known = (value: number | null) => (value === null ? 'unknown' : amountText(value))

function valuesInWords({ day, kept, raw }: DayVolume, names: Names): string {
  return `${iso(day)}: ${names.short} ${known(kept)}, raw ${known(raw)}`
}

/** Values of the last 90 days and those that the longest range draws, newest first. */
function valueTable(rail: string, history: History): HtmlAndMarkdown {
  const { volumes, gaps, every, names, polls, span } = history
  const runs = [...history.kept, ...history.raw]
  const drawn = new Set(runs.flatMap((run) => thinned(run, every)).map(({ day }) => day))
  const days = volumes
    .filter(
      ({ day, kept, raw }) =>
        (kept ?? raw) !== null && (day > span[1] - tableDays || drawn.has(day)),
    )
    .map((volume) => ({
      day: volume.day,
      name: iso(volume.day),
      values: [
        `${known(volume.kept)}${names.short === 'kept' && volume.kept !== null ? (volume.isNet ? ' net' : ' filtered') : ''}`,
        known(volume.raw),
      ],
    }))
  const missing = gaps.map((gap) => ({
    day: gap[0] + 0.5,
    name: daysOfGap(gap).join(' to '),
    values: [volumes.some(({ day }) => isInGap(day, gap)) ? 'unknown' : 'no reading'],
  }))
  const rows = [...days, ...missing].sort((a, b) => b.day - a.day)
  const title = capitalized(names.short)
  const headers = ['Day', title, 'Raw']
  const failed = polls.filter(({ outcome }) => outcome === 'failed').length
  const about = inline`USDC over 30 days by the last successful poll of each day${every === 1 ? '' : `, before ${iso(span[1] - tableDays + 1)} of every ${ordinal(every)} reading`}. ${counted(failed, 'poll')} of ${String(polls.length)} failed; ${link(pathOf('getRailHistoryCsv', { name: rail }), 'all polls as CSV')}.`
  const cells = ({ values }: (typeof rows)[number]) =>
    values.length === 1
      ? `<td colspan="2"><span class="unknown">${values[0] ?? ''}</span>`
      : values
          .map(
            (value) =>
              `<td>${value === 'unknown' ? '<span class="unknown">unknown</span>' : value}`,
          )
          .join('')
  // HTML allows to omit the end tags of cells and rows; they would be a tenth of the page.
  const body = rows.map((row) => `<tr><th scope="row">${row.name}${cells(row)}`)
  return {
    html: html`<p class="caption" id="history-caption">${about.html}</p>
      <div class="scroll" role="region" aria-labelledby="history-caption" tabindex="0">
        <table aria-labelledby="history-caption">
          <thead>
            <tr>
              ${headers.map((header) => html`<th scope="col">${header}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${trusted(body.join('\n'))}
          </tbody>
        </table>
      </div>`,
    md: [
      about.md,
      '',
      `| ${headers.join(' | ')} |`,
      '| --- | ---: | ---: |',
      ...rows.map(
        ({ name, values }) =>
          `| ${[name, ...values, ...(values.length === 1 ? [''] : [])].join(' | ')} |`,
      ),
    ].join('\n'),
  }
}
