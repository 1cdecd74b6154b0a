/** One mark for each rail, and how recent the figures are. */
import { leftText } from '../../src/core/backfill.ts'
import { groupBy } from '../../src/core/group-by.ts'
import { counted } from '../../src/core/number-text.ts'
import { hasClaims } from '../../src/pages/claims.ts'
import { ageText } from '../../src/pages/figures.ts'
import { inline, link, renderInline, strong } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import { carriedText, isAudited } from '../../src/pages/rail-parts.ts'
import type { World } from '../world/world.ts'
import { byStatus, statusAnchor, statusWord } from './rail-table.ts'
import { isOwn } from './shown-rails.ts'
import type { ListedRail, ShownRail } from './shown-rails.ts'

export function tally(rails: readonly ListedRail[], world: Pick<World, 'nowMs'>): HtmlAndMarkdown {
  const groups = [...groupBy(rails.toSorted(byStatus), ({ view }) => statusWord(view))].flatMap(
    ([status, ofStatus]) =>
      [...groupBy(ofStatus, ({ view }) => view.judged && isAudited(view))].map(
        ([isSaid, { length }]) => ({ status, length, isSaid }),
      ),
  )
  const words = groups.map(
    ({ status, length, isSaid }) => `${length} ${status}${isSaid ? ' by the count of others' : ''}`,
  )
  const mark = ({ status, isSaid }: (typeof groups)[number]) =>
    html`<span
      class="${isSaid ? 'dot said' : 'dot'}"
      data-is="${status}"
      aria-hidden="true"
    ></span>`
  const marks = groups.flatMap((group) => Array.from({ length: group.length }, () => mark(group)))
  const entries = groups.map(
    (group, at) =>
      html`<li>
        <a href="/?status=${encodeURIComponent(group.status)}#${statusAnchor(group.status)}"
          >${mark(group)} ${words[at]}</a
        >
      </li>`,
  )
  const fresh = freshness(rails, world)
  return {
    html: html`<section class="tally" aria-labelledby="tally">
      <h2 id="tally">One mark for each rail</h2>
      <div
        class="marks"
        role="img"
        aria-label="${counted(rails.length, 'rail')}: ${words.join(', ')}"
      >
        ${marks}
      </div>
      <ul class="legend">
        ${entries}
      </ul>
      ${fresh.map((line) => html`<p>${renderInline(line).html}</p>`)}
    </section>`,
    md: [
      `${counted(rails.length, 'rail')}: ${words.join(', ')}.`,
      ...fresh.map((line) => renderInline(line).md),
    ].join('\n\n'),
  }
}

/** What is read, what is not, and why. */
function freshness(rails: readonly ShownRail[], world: Pick<World, 'nowMs'>): Inline[] {
  const polled = rails.filter(({ record }) => record.rule !== null)
  const unread = polled.filter(({ view }) => isAudited(view))
  const old = polled.filter(({ view }) => !isAudited(view) && carriedText(view, world) !== null)
  const never = rails.filter((rail) => rail.record.rule === null && !isOwn(rail)).length
  const oldest = Math.min(...old.map(({ view }) => Date.parse(view.figures_as_of)))
  const read = polled.length - unread.length
  const reading = unread.flatMap(({ record }) => record.backfill ?? [])
  const left = leftText(Math.max(...reading.map(({ leftMs }) => leftMs ?? 0)) || null)
  const said = unread.filter(({ view }) => hasClaims(view)).length
  return [
    inline`${strong('How recent?')} ${read} of ${counted(polled.length, 'polled rail')} ${read === 1 ? 'has' : 'have'} been read${old.length === 0 ? '' : inline`, ${old.length} of them not recently: the oldest figures are ${ageText(world.nowMs - oldest)} old`}. ${never === 0 ? '' : `${never} more ${never === 1 ? 'is' : 'are'} never polled: we know no source that shows ${never === 1 ? 'its' : 'their'} payouts.`}${rails.some(isOwn) ? ' Our own job exchange moves no money, so it has no payouts to read.' : ''}`,
    reading.length === 0
      ? null
      : inline`The logs of ${counted(reading.length, 'rail')} are being read${left === null ? '' : `: ${left}`}. ${link('/docs/running', 'A node of your own')} is faster than a public one.`,
    said === 0
      ? null
      : inline`${counted(said, 'unread rail')} ${said === 1 ? 'has' : 'have'} dated figures of others, in pencil. We did not read them ourselves, and no sum contains them.`,
  ].filter((line) => line !== null)
}
