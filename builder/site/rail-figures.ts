/** The figures of a rail, from raw to net, each with its origin. */
import type { Rail } from '../../src/contract/schemas/rail.ts'
import { knownFigure } from '../../src/core/figures.ts'
import type { FigureName } from '../../src/core/figures.ts'
import { counted } from '../../src/core/number-text.ts'
import { facts, htmlOnly, stacked } from '../../src/pages/blocks.ts'
import { citationOf } from '../../src/pages/cite.ts'
import { amount, count, day, signed, time } from '../../src/pages/figures.ts'
import { code, inline, link, untrustedText } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import { disputeFigure } from '../../src/pages/paths.ts'
import { countedDays, isAudited, isPolled, keptBar, readBy } from '../../src/pages/rail-parts.ts'
import { column, figureColumn, table } from '../../src/pages/table.ts'
import { evidenceUri } from '../documents/rail-view.ts'
import type { World } from '../world/world.ts'
import type { ShownRail } from './shown-rails.ts'

export function moreFigures({ record, view }: ShownRail): HtmlAndMarkdown {
  const shown = (figure: FigureName) =>
    signed(figure, readBy(view, count(knownFigure(view, figure))))
  return facts([
    [
      'As of',
      isAudited(view)
        ? inline`${day(record.state.figuresAsOfMs)}, the last day that others counted`
        : inline`${time(record.state.figuresAsOfMs)}, by poll`,
    ],
    ['Last poll', lastPoll(record.state.lastPollAtMs, view)],
    ['Paying parties', shown('parties_30d')],
    view.notes === undefined ? null : ['Notes', untrustedText(view.notes)],
  ])
}

export function figureTable(view: Rail, world: Pick<World, 'history' | 'site'>): HtmlAndMarkdown {
  const from = (id: keyof typeof originFigures, label: Inline, meaning: Inline) =>
    inline`${label} ${origin(id, meaning, view, world)}`
  const known = (name: FigureName) => knownFigure(view, name)
  const show = (name: FigureName) => signed(name, readBy(view, amount(known(name))))
  const [raw, filtered] = [known('tpv_30d_raw_usdc'), known('tpv_30d_usdc')]
  const net = known('tpv_30d_net_usdc')
  const leftOut7 = less(known('tpv_7d_raw_usdc'), known('tpv_7d_usdc'))
  const leftOut = inline`Left out by the filter rule: ${removedText(view)}`
  const rows = [
    [
      from('raw', 'Raw volume', 'Every payment that the source shows.'),
      show('tpv_30d_raw_usdc'),
      show('tpv_7d_raw_usdc'),
      '',
    ],
    [leftOut, less(raw, filtered), leftOut7, 'minus'],
    [
      from(
        'filtered',
        'Filtered volume',
        isAudited(view)
          ? 'Payments that the counter keeps.'
          : inline`Payments that the rule ${code(view.rule)} keeps.`,
      ),
      show('tpv_30d_usdc'),
      show('tpv_7d_usdc'),
      '',
    ],
    ['Came back to its payers, or stayed within one party', less(filtered, net), '—', 'minus'],
    [
      from('net', 'Net volume', 'Each party’s payments without the money that came back to it.'),
      show('tpv_30d_net_usdc'),
      '—',
      'sum',
    ],
  ] as const
  return stacked([
    table(rows, {
      id: 'figures',
      caption: isAudited(view)
        ? 'In USDC, of the days that “What others say” states, after the filter of the counter. Our own rule was not applied.'
        : 'In USDC.',
      sortable: false,
      rowData: ([, , , kind]) => ({ row: kind }),
      columns: [
        column('Volume', ([label]) => label),
        figureColumn(countedDays(view), null, ([, month]) => month),
        figureColumn('7 days', null, ([, , week]) => week),
      ],
    }),
    keptBar(raw, net ?? filtered, isAudited(view) ? 'said' : ''),
  ])
}

const originFigures = {
  raw: 'tpv_30d_raw_usdc',
  filtered: 'tpv_30d_usdc',
  net: 'tpv_30d_net_usdc',
} as const satisfies Readonly<Record<string, FigureName>>

/** Button that opens the origin of a figure next to it, without a script. */
function origin(
  id: keyof typeof originFigures,
  meaning: Inline,
  view: Rail,
  { history, site }: Pick<World, 'history' | 'site'>,
): HtmlAndMarkdown {
  const evidence = evidenceUri(history.get(view.rail)?.find(({ outcome }) => outcome === 'ok'))
  const { evidence_uri: uri } = evidence
  const about = facts([
    ['Meaning', meaning],
    [
      'Read',
      isAudited(view) ? inline`by others, to ${day(view.figures_as_of)}` : time(view.figures_as_of),
    ],
    [
      'Sources',
      Object.keys(view.audit.figures).length > 0 && isAudited(view)
        ? link('#claims', 'What others say')
        : view.evidence.length === 0
          ? 'none recorded'
          : link('#evidence', counted(view.evidence.length, 'source')),
    ],
    uri === undefined ? null : ['Evidence', link(uri, 'all that the poll read and computed')],
    uri === undefined ? null : ['Recompute', code(`agent-income-ledger recompute ${view.rail}`)],
    ['Check', link('#check', 'Check it yourself')],
    ['Dispute', link(disputeFigure(view, originFigures[id]), 'Dispute this figure')],
    ['Cite', code(citationOf({ ...view, ...evidence }, originFigures[id], site.url))],
  ])
  return htmlOnly(
    html`<button
        type="button"
        class="origin"
        popovertarget="origin-${id}"
        aria-label="Origin of this figure: ${id}"
      >
        origin
      </button>
      <div popover id="origin-${id}">
        ${about.html}
        <button class="tool" type="button" popovertarget="origin-${id}" popovertargetaction="hide">
          Close
        </button>
      </div>`,
  )
}

function less(whole: number | null, part: number | null): Inline {
  if (whole === null || part === null) return amount(null)
  const difference = Math.round((whole - part) * 1e6) / 1e6
  return difference === 0 ? amount(0) : inline`− ${amount(difference)}`
}

function lastPoll(lastPollAtMs: number | null, view: Rail): Inline {
  if (lastPollAtMs === null) return isPolled(view) ? 'none yet' : 'never: audited manually'
  const outcome = view.poll_error === undefined ? 'successful' : 'failed'
  const { poll_duration_ms: ms } = view
  return inline`${time(lastPollAtMs)}, ${outcome}, took ${ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`}`
}

function removedText(view: Rail): Inline {
  if (isAudited(view)) return 'see the method of the counter'
  const entries = Object.entries(view.removed_30d)
  if (entries.length === 0) return isKnownZero(view) ? 'nothing' : 'reasons not recorded'
  return entries.map(([reason, payouts]) => `${counted(payouts, 'payout')} (${reason})`).join(', ')
}

function isKnownZero(view: Rail): boolean {
  const raw = knownFigure(view, 'tpv_30d_raw_usdc')
  return raw !== null && raw === knownFigure(view, 'tpv_30d_usdc')
}
