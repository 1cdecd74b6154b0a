/** `/honesty`: open and recently closed honesty flags. */
import { flagTexts } from '../../src/core/flags/index.ts'
import { counted } from '../../src/core/number-text.ts'
import { facts, introduction, links, section, verifyBox } from '../../src/pages/blocks.ts'
import { disputeSection } from '../../src/pages/dispute.ts'
import { atomFeed } from '../../src/pages/page.ts'
import { bySeverity } from '../documents/flags.ts'
import { doubtsOf, flagTable, openFlagBlocks } from './flag-parts.ts'
import { pageSource } from './page-source.ts'
import { railParts, shownRails } from './rail-parts.ts'

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
        section('open', 'Open', ...openFlagBlocks(openFlags.toSorted(bySeverity), rails)),
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
