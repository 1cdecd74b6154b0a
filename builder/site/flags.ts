/** `/honesty`: open and recently closed honesty flags. */
import type { Flag } from '../../src/contract/schemas/flag.ts'
import type { Rail } from '../../src/contract/schemas/rail.ts'
import { flagTexts } from '../../src/core/flags/index.ts'
import { counted } from '../../src/core/number-text.ts'
import { facts, introduction, links, section, verifyBox } from '../../src/pages/blocks.ts'
import { disputeSection } from '../../src/pages/dispute.ts'
import { inline, untrustedText } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../../src/pages/html-and-markdown.ts'
import { atomFeed } from '../../src/pages/page.ts'
import { bySeverity } from '../documents/flags.ts'
import { doubtsOf, flagTable, openFlagBlocks } from './flag-parts.ts'
import { pageSource } from './page-source.ts'
import { railLink, railParts, shownRails } from './rail-parts.ts'

const shownClosed = 200

export const flagsPage = pageSource(
  ['closedFlags', 'disputes', 'openFlags', ...railParts],
  (world) => {
    const { openFlags, closedFlags } = world
    const doubts = doubtsOf(world).length
    const rails = new Map(shownRails(world).map(({ view }) => [view.rail, view]))
    return {
      path: '/honesty',
      title: 'Honesty flags',
      description: `${counted(doubts, 'open doubt')} about figures of this ledger, each with its evidence, and recently closed flags.`,
      nav: '/honesty',
      json: ['/api/v1/honesty/flags'],
      feeds: [atomFeed('/feeds/flags.atom', 'Flags')],
      body: [
        introduction(
          'A flag is a public, evidence-backed doubt about a rail, its source or our own reading. Flags are raised and closed by rules. No flag is removed on request.',
        ),
        section(
          'open',
          'Open',
          ...openFlagBlocks(openFlags.toSorted(bySeverity), (flag) => titleOf(flag, rails)),
        ),
        section(
          'closed',
          'Closed',
          flagTable(
            'closed-flags',
            `Most recently closed: ${Math.min(closedFlags.length, shownClosed)}.`,
            closedFlags.slice(0, shownClosed),
            rails,
          ),
        ),
        disputeSection(world.disputes.newest.filter(({ target }) => 'flag_id' in target)),
        section('kinds', 'Kinds of flags', facts(flagTexts)),
        verifyBox('/api/v1/honesty/flags'),
        links([
          ['/api/v1/honesty/flags', 'Open flags, JSON'],
          ['/feeds/flags.atom', 'Feed of flags'],
          ['/disputes', 'Disputes'],
          ['/status', 'Poll status'],
        ]),
      ],
    }
  },
)

/** The title begins with the name of the rail, which becomes a link. */
function titleOf({ rail, title }: Flag, rails: ReadonlyMap<string, Rail>): HtmlAndMarkdown {
  const view = rail === null ? undefined : rails.get(rail)
  if (view === undefined) return untrustedText(title)
  const rest = title.startsWith(view.display_name)
    ? title.slice(view.display_name.length)
    : `: ${title}`
  return inline`${railLink(view)}${untrustedText(rest)}`
}
