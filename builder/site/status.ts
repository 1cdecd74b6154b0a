/**
 * `/status`: whether every rail can be read, the polls of the last thirty days, and what went wrong. Builds are not
 * shown: a build would change this page, and the change would require another build.
 */
import { daysReadText, percentRead } from '../../src/core/backfill.ts'
import { counted } from '../../src/core/number-text.ts'
import { dayMs, entriesByDay } from '../../src/core/time.ts'
import {
  actions,
  aside,
  htmlOnly,
  keyFigures,
  links,
  list,
  para,
  rows,
  section,
} from '../../src/pages/blocks.ts'
import { day, pill, sub, time, unknown } from '../../src/pages/figures.ts'
import { inline, link, small, strong, untrustedText } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from '../../src/pages/html-and-markdown.ts'
import { html, trusted } from '../../src/pages/html.ts'
import { carriedText, railLink } from '../../src/pages/rail-parts.ts'
import type { PollRecord, World } from '../world/world.ts'
import { pageSource } from './page-source.ts'
import { receiptChecks, receiptChecksPath } from './receipt-checks.ts'
import { isOwn, railParts, shownRails } from './shown-rails.ts'
import type { ShownRail } from './shown-rails.ts'

const days = 30

type StatusWorld = Pick<World, 'history' | 'nowMs' | 'receiptRun' | 'runs'>

export const statusPage = pageSource(['history', 'receiptRun', 'runs', ...railParts], (world) => {
  const all = shownRails(world)
  const rails = all.filter(({ record }) => record.rule !== null)
  const polled = rails.filter(({ record }) => record.state.lastPollAtMs !== null)
  const failed = polled.filter(({ record }) => record.state.lastError !== null)
  const reading = rails.filter(
    ({ record }) => record.backfill !== null && record.state.lastError === null,
  )
  const waiting = rails.filter(
    (rail) => rail.record.state.lastPollAtMs === null && !reading.includes(rail),
  )
  const good = polled.filter((rail) => !failed.includes(rail) && !reading.includes(rail))
  const never = all.filter(({ record }) => record.rule === null).length
  const counts = { rails, failed, reading, waiting, good, never, hasOwn: all.some(isOwn) }
  const sum = sumOf(counts)
  const lines = (shown: readonly ShownRail[]) => rows(shown.map((rail) => lineOf(rail, world)))
  const part = (id: string, title: string, shown: readonly ShownRail[]) =>
    shown.length === 0 ? null : section(id, `${title}: ${shown.length}`, lines(shown))
  return {
    path: '/status',
    title: 'Service status',
    description: `${sum} The page lists every failure of the last thirty days by rail.`,
    nav: '/docs',
    json: ['/api/v1/health', 'Health'],
    body: [
      state(counts, sum),
      htmlOnly(html`<div class="soft" data-health="/api/v1/health" role="status"></div>`),
      keys(counts, world),
      jobsBox(world),
      part('failed', 'Cannot be read', failed),
      part('reading', 'Being read for the first time', reading),
      part('waiting', 'Not polled yet', waiting),
      part('good', 'Read without trouble', good),
      para(
        'One bar a day, the newest on the right: tall if all polls succeeded, half if some failed, low if all failed, dashed if there was no poll.',
        'caption',
      ),
      outagesSection(rails, world),
      receiptChecks(world),
      links([
        ['/api/v1/health', 'Health, JSON'],
        world.receiptRun === null ? null : [receiptChecksPath, 'Receipt checks, JSON'],
        ['/honesty', 'Honesty flags'],
        ['/week', 'What changed this week'],
        ['/diffs/latest.md', 'What the last build changed'],
      ]),
    ],
  }
})

/** Of the polled rails, each is in exactly one of the four lists. */
interface Counts {
  readonly rails: readonly ShownRail[]
  readonly good: readonly ShownRail[]
  readonly failed: readonly ShownRail[]
  readonly reading: readonly ShownRail[]
  readonly waiting: readonly ShownRail[]
  readonly never: number
  readonly hasOwn: boolean
}

const ownText = (never: number): string =>
  never === 1 ? ': our own job exchange' : ', our own job exchange among them'

function sumOf({ rails, good, failed, reading, waiting, never, hasOwn }: Counts): string {
  const others = [
    [failed, 'could not be read'],
    [reading, 'being read for the first time'],
    [waiting, 'not polled yet'],
  ] as const
  const parts = others.flatMap(([{ length }, what]) => (length === 0 ? [] : `${length} ${what}`))
  const read = [`${good.length} of ${counted(rails.length, 'polled rail')} read`, ...parts]
  return `${read.join(', ')}.${never === 0 ? '' : ` ${counted(never, 'more rail')} ${never === 1 ? 'has' : 'have'} no source that we could poll${hasOwn ? ownText(never) : ''}.`}`
}

/** The state as one line; the script of the site adds the state of the service. */
function state({ rails, failed, good, reading, waiting }: Counts, sum: string): HtmlAndMarkdown {
  const [look, word] =
    waiting.length === rails.length
      ? ['unknown', 'No rail has been polled yet']
      : failed.length > 0
        ? ['warning', `${failed.length} of ${counted(rails.length, 'rail')} could not be read`]
        : good.length === rails.length
          ? ['good', 'Every polled rail was read']
          : [
              'warning',
              `${reading.length + waiting.length} of ${counted(rails.length, 'rail')} not read yet`,
            ]
  const text =
    failed.length === 0
      ? sum
      : `${sum} Figures of a failed poll are those of the last good one, with their dates.`
  return {
    html: html`<p class="state">
      <span class="pill big" data-is="${look}">${word}</span> <span>${text}</span>
    </p>`,
    md: `${word}. ${text}`,
  }
}

function keys({ rails, good }: Counts, { receiptRun }: StatusWorld): HtmlAndMarkdown {
  const read = rails.flatMap(({ record }) => record.state.lastGoodPollAtMs ?? [])
  const oldest = rails
    .filter(({ view }) => view.figures_source === 'poll')
    .map(({ record }) => record.state.figuresAsOfMs)
  const chains = receiptRun?.chains ?? []
  const open = chains.reduce(
    (sum, { state, due, waiting, provisional }) =>
      sum + (state === 'no rpc' || state === 'no checker' ? due : waiting + provisional),
    0,
  )
  return keyFigures([
    {
      label: 'Readings',
      value: `${good.length} of ${rails.length}`,
      note: 'Rails whose last poll succeeded.',
    },
    {
      label: 'Oldest figures',
      value: oldest.length === 0 ? unknown : day(Math.min(...oldest)),
      note:
        read.length === 0
          ? 'No poll has succeeded yet.'
          : inline`Of the rails that were read; the newest reading is of ${time(Math.max(...read))}. Stale figures count for no sum.`,
    },
    {
      label: 'Receipts on chain',
      value: receiptRun === null ? unknown : String(open),
      unit: receiptRun === null ? '' : 'waiting',
      note:
        receiptRun === null
          ? 'No check has run yet.'
          : inline`As of ${time(receiptRun.finished_at)}. ${link('#receipts', 'By chain')}`,
    },
  ])
}

function lineOf({ record, view }: ShownRail, world: StatusWorld) {
  const { lastGoodPollAtMs: good, lastPollAtMs: last } = record.state
  const source = sub(`${view.category} · ${view.chain}`)
  return {
    name: inline`${railLink(view)} ${source}`,
    text: outcome({ record, view }, world),
    end: inline`${strip(world.history.get(view.rail) ?? [], world.nowMs)} ${
      last !== null && good === null ? small('no good poll yet') : null
    }`,
  }
}

function outcome({ record: { state, backfill }, view }: ShownRail, world: StatusWorld): Inline {
  if (backfill !== null && state.lastError === null) {
    return inline`${pill('reading')} ${daysReadText(backfill)} (${percentRead(backfill)} %)`
  }
  if (state.lastPollAtMs === null) return pill('not polled')
  const took =
    state.lastDurationMs < 50 ? null : `, took ${(state.lastDurationMs / 1000).toFixed(1)}\u00A0s`
  if (state.lastError === null) return inline`${time(state.lastPollAtMs)}${took}`
  const carried = carriedText(view, world)
  return inline`${pill('failed')} ${time(state.lastPollAtMs)}: ${untrustedText(state.lastError)} ${carried === null ? null : sub(`Figures: ${carried}.`)}`
}

function jobsBox({ runs }: StatusWorld): HtmlAndMarkdown {
  const jobs = runs
    .filter(({ job }) => job !== 'build')
    .map((run) => {
      const detail = run.detail === null ? null : small(untrustedText(run.detail))
      const ended = run.finishedAt ?? run.startedAt
      // A job that found nothing to do, or no setting, has run as well: green would say too much.
      const outcome = run.outcome === 'ok' ? 'done' : (run.outcome ?? 'running')
      return inline`${strong(run.job)} ${pill(outcome)} ${time(ended)} ${detail}`
    })
  const shown = jobs.length === 0 ? para('No job has run yet.') : list(jobs)
  const next = actions([
    ['/api/v1/health', 'Health'],
    ['/feeds', 'Subscribe', 'quiet'],
  ])
  return aside('Last run of each job', {
    html: html`${shown.html}${next.html}`,
    md: `Last run of each job:\n\n${shown.md}`,
  })
}

/** One bar a day; its height repeats the colour. */
function strip(polls: readonly PollRecord[], nowMs: number): HtmlAndMarkdown {
  const tallies = entriesByDay(polls, ({ polledAtMs }) => polledAtMs, days, nowMs).map((ofDay) => {
    const goodPolls = ofDay.filter((poll) => poll.outcome === 'ok').length
    return { good: goodPolls, failed: ofDay.length - goodPolls }
  })
  const good = tallies.reduce((sum, tally) => sum + tally.good, 0)
  const failed = tallies.reduce((sum, tally) => sum + tally.failed, 0)
  const words = good + failed === 0 ? 'no poll' : `${good} good, ${failed} failed`
  const bars = tallies.map((tally, index) => {
    const [ink, height] =
      tally.good + tally.failed === 0
        ? ['none', 8]
        : tally.failed === 0
          ? ['good', 20]
          : tally.good === 0
            ? ['bad', 6]
            : ['mixed', 12]
    return `<rect class="${ink}" x="${index * 5.5}" y="${22 - height}" width="4" height="${height}"/>`
  })
  const svg = `<svg class="strip" viewBox="0 0 ${days * 5.5} 22" width="${days * 5.5}" height="22" role="img" aria-label="${words} in ${days} days">${bars.join('')}</svg>`
  return { html: html`${trusted(svg)} <small>${words}</small>`, md: `${words} in ${days} days` }
}

const shownOutages = 20

/** Failed polls in a row: each explains a gap in a chart. Newest first. */
function outagesSection(rails: readonly ShownRail[], world: StatusWorld): HtmlAndMarkdown {
  const fromMs = world.nowMs - days * dayMs
  const found = rails
    .flatMap(({ view }) =>
      outagesOf(world.history.get(view.rail) ?? [], fromMs).map((one) => ({ ...one, view })),
    )
    .toSorted((a, b) => b.lastMs - a.lastMs)
  const shown = found.slice(0, shownOutages)
  return section(
    'gaps',
    'What went wrong',
    para(
      found.length === 0
        ? 'No poll failed in the last thirty days.'
        : `${counted(found.length, 'gap')} in the last thirty days${found.length > shown.length ? `; the newest ${shown.length} are shown` : ''}. A gap stays a gap in every chart.`,
    ),
    shown.length === 0
      ? null
      : rows(
          shown.map(({ view, firstMs, lastMs, polls, error, isOver }) => ({
            name: railLink(view),
            text: inline`${counted(polls, 'failed poll')}: ${untrustedText(error)}`,
            end: inline`${time(firstMs)} ${firstMs === lastMs ? null : inline`to ${time(lastMs)}`} ${isOver ? null : small('not read since')}`,
          })),
        ),
  )
}

function outagesOf(polls: readonly PollRecord[], fromMs: number) {
  const recent = polls.filter(({ polledAtMs }) => polledAtMs >= fromMs)
  return recent.flatMap(({ outcome, polledAtMs: lastMs, error }, at) => {
    if (outcome !== 'failed' || recent[at - 1]?.outcome === 'failed') return []
    const older = recent.slice(at)
    const good = older.findIndex((poll) => poll.outcome !== 'failed')
    const failed = good === -1 ? older : older.slice(0, good)
    const firstMs = failed.at(-1)?.polledAtMs ?? lastMs
    const reason = error ?? 'no reason recorded'
    return { firstMs, lastMs, polls: failed.length, error: reason, isOver: at > 0 }
  })
}
