/**
 * `/status`: the polls of the last thirty days, rail by rail. Builds are not shown: a build would change
 * this page, and the change would require another build.
 */
import { daysReadText, percentRead } from '../../src/core/backfill.ts'
import { counted } from '../../src/core/number-text.ts'
import { entriesByDay } from '../../src/core/time.ts'
import { facts, htmlOnly, introduction, links } from '../../src/pages/blocks.ts'
import { pill, time } from '../../src/pages/figures.ts'
import { untrustedText, link, inline } from '../../src/pages/html-and-markdown.ts'
import type { Inline } from '../../src/pages/html-and-markdown.ts'
import { html, trusted } from '../../src/pages/html.ts'
import { cell, column, table, timeColumn } from '../../src/pages/table.ts'
import type { TableCell } from '../../src/pages/table.ts'
import type { PollRecord, RailRecord, World } from '../world/world.ts'
import { pageSource } from './page-source.ts'
import { carriedText, railLink, railParts, shownRails } from './rail-parts.ts'
import { receiptChecks, receiptChecksPath } from './receipt-checks.ts'

const days = 30

export const statusPage = pageSource(['history', 'receiptRun', 'runs', ...railParts], (world) => {
  const rails = shownRails(world).filter(({ record }) => record.rule !== null)
  const polled = rails.filter(({ record }) => record.state.lastPollAtMs !== null)
  const good = polled.filter(({ record }) => record.state.lastError === null).length
  const waiting = rails.length - polled.length
  const rest =
    waiting === 0 ? '' : `; ${waiting} ${waiting === 1 ? 'has' : 'have'} not been polled yet`
  const sum =
    polled.length === 0
      ? `None of ${counted(waiting, 'rail')} has been polled yet.`
      : `${good} of ${counted(polled.length, 'rail')} were read successfully in their last poll${rest}.`
  return {
    path: '/status',
    title: 'Status',
    description: `${sum} The page lists every failure of the last thirty days by rail.`,
    nav: '/docs',
    json: ['/api/v1/health', 'Health'],
    body: [
      introduction(
        inline`${sum} The current state of the service is at ${link('/api/v1/health', '/api/v1/health')}.`,
      ),
      htmlOnly(html`<div data-health="/api/v1/health" role="status"></div>`),
      facts(jobs(world)),
      table(rails, {
        id: 'polls',
        caption:
          'Each bar shows one day, and the newest day is on the right. The bar is full if all polls succeeded, half if some failed, and low if all failed. A day without polls has no bar.',
        columns: [
          column('Rail', ({ view }) => cell(railLink(view), view.display_name.toLowerCase())),
          timeColumn('Last poll', ({ record }) => record.state.lastPollAtMs, 'never'),
          timeColumn(
            'Last successful poll',
            ({ record }) => record.state.lastGoodPollAtMs,
            'never',
          ),
          column('Outcome', ({ record, view }) => outcome(record, carriedText(view, world)), {
            kind: 'wide',
          }),
          column('Last 30 days', ({ view }) =>
            stripOf(world.history.get(view.rail) ?? [], world.nowMs),
          ),
        ],
        empty: 'No rails are polled.',
      }),
      receiptChecks(world),
      links([
        ['/api/v1/health', 'Health, JSON'],
        world.receiptRun === null ? null : [receiptChecksPath, 'Receipt checks, JSON'],
        ['/honesty', 'Honesty flags'],
        ['/diffs/latest.md', 'What the last build changed'],
      ]),
    ],
  }
})

function outcome({ state, backfill }: RailRecord, carried: string | null): Inline {
  if (backfill !== null) {
    return inline`${pill('reading')} ${daysReadText(backfill)} (${percentRead(backfill)} %)`
  }
  if (state.lastPollAtMs === null) return pill('not polled')
  if (state.lastError === null) return pill('good')
  return inline`${pill('failed')} ${untrustedText(state.lastError)} ${carried === null ? null : `(${carried})`}`
}

/** The last run of every job except the build. */
function jobs(world: Pick<World, 'runs'>): readonly (readonly [string, Inline])[] {
  return world.runs
    .filter(({ job }) => job !== 'build')
    .map((run): readonly [string, Inline] => {
      const result = pill(run.outcome ?? 'running')
      const ended = run.finishedAt ?? run.startedAt
      const detail = run.detail === null ? null : inline` ${untrustedText(run.detail)}`
      return [`Last run of ${run.job}`, inline`${result} ${time(ended)}${detail}`]
    })
}

/** One bar a day; its height repeats the colour. The cell is sorted by the share of successful polls. */
function stripOf(polls: readonly PollRecord[], nowMs: number): TableCell {
  const tallies = entriesByDay(polls, ({ polledAtMs }) => polledAtMs, days, nowMs).map((ofDay) => {
    const goodPolls = ofDay.filter((poll) => poll.outcome === 'ok').length
    return { good: goodPolls, failed: ofDay.length - goodPolls }
  })
  const good = tallies.reduce((sum, tally) => sum + tally.good, 0)
  const failed = tallies.reduce((sum, tally) => sum + tally.failed, 0)
  const words = good + failed === 0 ? 'no poll' : `${good} good, ${failed} failed`
  const bars = tallies.map((tally, index) => {
    if (tally.good + tally.failed === 0) return ''
    const height = tally.failed === 0 ? 18 : tally.good === 0 ? 5 : 11
    const ink = tally.failed === 0 ? 'good' : tally.good === 0 ? 'bad' : 'mixed'
    return `<rect class="${ink}" x="${index * 4}" y="${20 - height}" width="3" height="${height}"/>`
  })
  const svg = `<svg class="strip" viewBox="0 0 ${days * 4} 20" width="${days * 4}" height="20" role="img" aria-label="${words} in 30 days">${bars.join('')}</svg>`
  const content = { html: html`${trusted(svg)} <small>${words}</small>`, md: words }
  return cell(content, good + failed === 0 ? null : good / (good + failed))
}
