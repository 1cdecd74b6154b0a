/** `/honesty`: open doubts first, then the trouble of our own reader, then recently closed flags. */
import type { Flag } from '../../src/contract/schemas/flag.ts'
import type { Rail } from '../../src/contract/schemas/rail.ts'
import { flagTexts, isReaderTrouble } from '../../src/core/flags/index.ts'
import { groupBy } from '../../src/core/group-by.ts'
import { counted } from '../../src/core/number-text.ts'
import {
  actions,
  aside,
  contents,
  facts,
  folded,
  introduction,
  links,
  para,
  section,
  verifyBox,
} from '../../src/pages/blocks.ts'
import { disputeSection } from '../../src/pages/dispute.ts'
import { inline } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import { atomFeed } from '../../src/pages/page.ts'
import { doubtsOf, railLink, statusPill } from '../../src/pages/rail-parts.ts'
import { isAnyRailKnown } from '../documents/rail-view.ts'
import { closedFlagTable, kindWords, openDoubts, troubleBlock } from './flag-parts.ts'
import type { Subject } from './flag-parts.ts'
import { pageSource } from './page-source.ts'
import { railParts, shownRails } from './shown-rails.ts'

const shownClosed = 200

export const flagsPage = pageSource(
  ['closedFlags', 'disputes', 'openFlags', ...railParts],
  (world) => {
    const { openFlags } = world
    const doubts = doubtsOf(world.openFlags)
    const trouble = openFlags.length - doubts.length
    const about = new Set(doubts.map(({ rail }) => rail)).size
    const rails = new Map(shownRails(world).map(({ view }) => [view.rail, view]))
    const closed = world.closedFlags.slice(0, shownClosed)
    const disputed = world.disputes.newest.filter(({ target }) => 'flag_id' in target)
    const subjectOf = (flag: Flag) => subjectIn(flag, rails, world)
    return {
      path: '/honesty',
      title:
        doubts.length > 0
          ? `${counted(doubts.length, 'doubt')} about ${counted(about, 'rail')}`
          : isAnyRailKnown(world)
            ? 'No open doubts'
            : 'No doubts yet: no rail has been judged',
      description: `Honesty flags: ${counted(doubts.length, 'open doubt')} about figures of this ledger, each with its evidence, and recently closed flags.`,
      nav: '/honesty',
      json: ['/api/v1/honesty/flags'],
      feeds: [atomFeed('/feeds/flags.atom', 'Flags')],
      body: [
        introduction(
          'A flag states what is in doubt, the figure behind it, and when it closes. Rules raise and close flags. No flag is removed on request; anyone can dispute one.',
        ),
        byKind(doubts),
        contents([
          ['#open', `Open doubts (${doubts.length})`],
          ['#reader', `Our own reader (${trouble})`],
          disputed.length === 0 ? null : ['#disputes', `Disputed (${disputed.length})`],
          ['#closed', 'Closed'],
          ['#kinds', 'All kinds of flags'],
        ]),
        section('open', 'Open doubts', openDoubts(openFlags, subjectOf)),
        section(
          'reader',
          'Trouble of our own reader',
          troubleBlock(openFlags, subjectOf, 'Open') ?? para('No open flag of our own reader.'),
        ),
        disputeSection(disputed),
        section('closed', 'Closed', ...closedBlocks(closed, rails)),
        section('kinds', 'Kinds of flags', facts(flagTexts)),
        verifyBox('/api/v1/honesty/flags'),
        links([
          ['/api/v1/honesty/flags', 'Open flags, JSON'],
          ['/feeds/flags.atom', 'Feed of flags'],
          ['/disputes', 'Disputes'],
          ['/status', 'Poll status'],
          ['/week', 'What changed this week'],
        ]),
      ],
    }
  },
)

function subjectIn(
  flag: Flag,
  rails: ReadonlyMap<string, Rail>,
  world: Parameters<typeof statusPill>[1],
): Subject {
  const view = rails.get(flag.rail ?? '')
  if (view === undefined) return { name: null, about: null }
  const status = isReaderTrouble(flag) ? null : statusPill(view, world)
  return { name: view.display_name, about: inline`${railLink(view)} ${status}` }
}

/** How many open doubts there are of each kind; the part that warns is in the colour of doubt. */
function byKind(doubts: readonly Flag[]): HtmlAndMarkdown {
  const kinds = [...groupBy(doubts, kindWords)].toSorted(([, a], [, b]) => b.length - a.length)
  const most = kinds[0]?.[1].length ?? 0
  const counts = kinds.map(([kind, { length }]) => `- ${kind}: ${length}`)
  const bars = kinds.map(([kind, flags]) => {
    const warnings = flags.filter(({ severity }) => severity !== 'info').length
    const width = (count: number) => `${((count / most) * 100).toFixed(1)}%`
    return html`<li>
      <span>${kind}</span> <b>${flags.length}</b>
      <svg width="100%" height="6" aria-hidden="true">
        <rect class="warn" width="${width(warnings)}" height="6" />
        <rect x="${width(warnings)}" width="${width(flags.length - warnings)}" height="6" />
      </svg>
    </li>`
  })
  const next = actions([
    ['/feeds/flags.atom', 'Subscribe'],
    ['/docs/disputing', 'Dispute a flag', 'warn'],
  ])
  return aside('Open, by kind', {
    html: html`${
      kinds.length === 0
        ? html`<p>No open doubts.</p>`
        : html`<ul class="bars">
              ${bars}
            </ul>
            <p><small>Amber: warnings and critical doubts.</small></p>`
    }${next.html}`,
    md: kinds.length === 0 ? '' : `Open, by kind:\n\n${counts.join('\n')}`,
  })
}

/** Failed polls close with the next good one, so they are apart. */
function closedBlocks(
  closed: readonly Flag[],
  rails: ReadonlyMap<string, Rail>,
): (HtmlAndMarkdown | null)[] {
  const doubts = closed.filter((flag) => !isReaderTrouble(flag))
  const trouble = closed.filter(isReaderTrouble)
  return [
    closedFlagTable('closed-flags', `Most recently closed: ${doubts.length}.`, doubts, rails),
    trouble.length === 0
      ? null
      : folded(
          `Trouble of our own reader, closed: ${trouble.length}`,
          closedFlagTable('closed-trouble', 'Each closed with a successful poll.', trouble, rails),
        ),
  ]
}
