import type { Rail } from '../../src/contract/schemas/rail.ts'
import { daysReadText } from '../../src/core/backfill.ts'
import { knownFigure } from '../../src/core/figures.ts'
import { counted } from '../../src/core/number-text.ts'
import { htmlOnly, section } from '../../src/pages/blocks.ts'
import { hasClaims } from '../../src/pages/claims.ts'
import { comparePath } from '../../src/pages/compare.ts'
import { amount, count, notJudgedWord, sub, wholePercent } from '../../src/pages/figures.ts'
import { inline, link, small } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../../src/pages/html-and-markdown.ts'
import {
  doubtNote,
  isAudited,
  keptVolume,
  railLink,
  readText,
  statusPill,
  topShare,
  volumeCell,
} from '../../src/pages/rail-parts.ts'
import { cell, column, table } from '../../src/pages/table.ts'
import type { TableColumn } from '../../src/pages/table.ts'
import type { World } from '../world/world.ts'
import { filterForm, statusWords } from './filters.ts'
import type { ListedRail, ShownRail } from './shown-rails.ts'
import { volumeSpark } from './volume-series.ts'

export function railSection(
  rails: readonly ListedRail[],
  world: Pick<World, 'history' | 'nowMs'>,
): HtmlAndMarkdown {
  const sorted = rails.toSorted(byStatus)
  const firsts = new Map(sorted.toReversed().map(({ view }) => [statusWord(view), view.rail]))
  return section(
    'rails-heading',
    'Rails',
    htmlOnly(filterForm('rails', counted(rails.length, 'rail'))),
    table(sorted, {
      id: 'rails',
      caption: inline`Volumes are net where known. In each bar the solid part is kept and the hatched part left out. “Unknown” is not zero. ${link(comparePath, 'Compare rails side by side')}`,
      // Without the script, the marks of the home page lead to the first rail of a status.
      rowId: ({ view }) =>
        firsts.get(statusWord(view)) === view.rail ? statusAnchor(statusWord(view)) : null,
      rowData: ({ view }) => {
        return { status: statusWord(view), chain: view.chain, category: view.category }
      },
      columns: [
        ...leadingColumns(world),
        column(
          'Trend',
          ({ view }) => volumeSpark(world.history.get(view.rail) ?? [], world.nowMs),
          {
            sortable: false,
          },
        ),
        workersColumn,
        entryColumn,
        column('Read', ({ record, view }) =>
          cell(readText(view, world), record.state.figuresAsOfMs),
        ),
      ],
      empty: 'No rails are listed.',
    }),
  )
}

export const statusAnchor = (status: string) => `status-${status.replaceAll(' ', '-')}`

/** The rail, its status, its volume and its doubt, as in every list of rails. */
export function leadingColumns(world: Pick<World, 'nowMs'>): readonly TableColumn<ListedRail>[] {
  return [
    column('Rail', ({ view }) =>
      cell(
        inline`${railLink(view)} ${sub(`${view.category} · ${view.chain}`)}`,
        view.display_name.toLowerCase(),
      ),
    ),
    column('Status', ({ record, view }) =>
      cell(
        inline`${statusPill(view, world)} ${sub(sinceText({ record, view }))}`,
        statusRank(view),
      ),
    ),
    column('Volume', ({ view }) => volumeCell(view), { unit: 'USDC, 30 days', kind: 'volume' }),
    column(
      'Doubt',
      ({ view, doubts }) =>
        cell(doubtNote(view, doubts, world), doubts.length === 0 ? null : -doubts.length),
      { kind: 'doubt-column' },
    ),
  ]
}

export const workersColumn = column('Workers', ({ view }: ShownRail) => {
  const workers = knownFigure(view, 'unique_workers_30d')
  const share = topShare(view)
  if (view.status_basis === 'activity') return cell('none known', null)
  const top = share === null ? null : sub(`top ${wholePercent(share)}`)
  return cell(inline`${count(workers)} ${top}`, workers)
})

export const entryColumn = column('Entry', ({ view: { entry_cost_usdc: cost } }: ShownRail) =>
  cell(cost === 0 ? 'free' : inline`${amount(cost)} ${small('USDC')}`, cost),
)

function sinceText({ record, view }: ShownRail): string {
  const { backfill } = record
  if (backfill !== null) return daysReadText(backfill)
  if (isAudited(view)) return record.rule === null ? 'never polled' : 'not read yet'
  return `since ${view.status_since.slice(0, 10)}`
}

/** The status as the filters of the table know it. */
export function statusWord({ judged, status }: Rail): string {
  return judged ? status : notJudgedWord
}

const statusRank = ({ judged, status }: ShownRail['view']) =>
  judged ? statusWords.indexOf(status) : statusWords.length

/**
 * By status with paying first, then by how far we trust it, then by volume with unknown last; of those not judged, what
 * others counted is first.
 */
export function byStatus(a: ListedRail, b: ListedRail): number {
  const trust = ({ view, rank }: ListedRail) => (view.judged ? rank : Number(!hasClaims(view)))
  return (
    statusRank(a.view) - statusRank(b.view) ||
    trust(a) - trust(b) ||
    (keptVolume(b.view) ?? -1) - (keptVolume(a.view) ?? -1) ||
    (a.view.display_name.toLowerCase() < b.view.display_name.toLowerCase() ? -1 : 1)
  )
}
