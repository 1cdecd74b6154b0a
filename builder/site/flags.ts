/** `/honesty`: every open doubt, and those that were settled. */
import { counted } from '../../src/core/number-text.ts'
import { facts, introduction, links, section, verifyBox } from '../../src/pages/blocks.ts'
import { jsonAlternate } from '../../src/pages/page.ts'
import type { SitePage } from '../../src/pages/page.ts'
import type { World } from '../world/world.ts'
import { flagTable, severityOrder } from './flag-parts.ts'
import { shownRails } from './rail-parts.ts'

const shownClosed = 200

export function flagsPage(
  world: Pick<World, 'closedFlags' | 'nowMs' | 'openFlags' | 'pollEveryMs' | 'rails'>,
): SitePage {
  const { openFlags, closedFlags } = world
  const rails = new Map(shownRails(world).map(({ view }) => [view.rail, view]))
  return {
    path: '/honesty',
    title: 'Honesty flags',
    description: `${counted(openFlags.length, 'open doubt')} about figures of this ledger, each with the numbers that tripped it, and the ones that were settled.`,
    nav: '/honesty',
    alternates: [
      jsonAlternate('/api/v1/honesty/flags'),
      { type: 'application/atom+xml', href: '/feeds/flags.atom', title: 'Flags' },
    ],
    body: [
      introduction(
        'A flag is a doubt in the open: about a rail, about its source, or about our own reading. Rules raise and settle them; nobody can have one removed by asking.',
      ),
      section(
        'open',
        'Open',
        flagTable(
          'open-flags',
          `${counted(openFlags.length, 'flag')}.`,
          openFlags.toSorted(bySeverity),
          rails,
        ),
      ),
      section(
        'closed',
        'Closed',
        flagTable(
          'closed-flags',
          `The ${Math.min(closedFlags.length, shownClosed)} that were closed last.`,
          closedFlags.slice(0, shownClosed),
          rails,
        ),
      ),
      section('kinds', 'What the kinds mean', facts(Object.entries(kinds))),
      verifyBox('/api/v1/honesty/flags'),
      links([
        ['/api/v1/honesty/flags', 'Open flags as JSON'],
        ['/feeds/flags.atom', 'Feed of flags'],
        ['/status', 'Status of the polls'],
      ]),
    ],
  }
}

function bySeverity(a: World['openFlags'][number], b: World['openFlags'][number]): number {
  const severity = severityOrder[a.severity] - severityOrder[b.severity]
  return severity === 0 ? (a.opened_at > b.opened_at ? -1 : 1) : severity
}

const kinds: Readonly<Record<World['openFlags'][number]['kind'], string>> = {
  poll_failed: 'The last poll failed; the figures are carried over.',
  stale_figures: 'No good poll in the last two cycles.',
  concentrated: 'One worker or service takes more than 90 %.',
  self_dealing: 'Much of the raw volume does not pass the filter rule.',
  figures_jump: 'A figure changed ten-fold between two polls.',
  clock_skew: 'The source dates a payout in the future.',
  negative_or_impossible_figures: 'The source gave figures that cannot be true; they were refused.',
  pact_sources_disagree:
    'Manifest, escrow, receipts or publications of a pact say different things.',
  receipt_reversed: 'A receipt that was verified is so no longer.',
}
