/** `/week`: what changed in the last seven days, the most important first. Days are whole, so that the page rarely changes. */
import type { Flag } from '../../src/contract/schemas/flag.ts'
import { isReaderTrouble } from '../../src/core/flags/index.ts'
import { bySeverity } from '../../src/core/flags/kind.ts'
import { counted } from '../../src/core/number-text.ts'
import { dayMs, isoDate } from '../../src/core/time.ts'
import {
  doubt,
  folded,
  introduction,
  links,
  para,
  rows,
  section,
  verdict,
} from '../../src/pages/blocks.ts'
import { day, pill, usdc } from '../../src/pages/figures.ts'
import { inline, link, small, untrustedText } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import { atomFeed } from '../../src/pages/page.ts'
import { articlePath, disputePath, pactPath } from '../../src/pages/paths.ts'
import { railLink, railLinkOf, statusPill, titleWithout } from '../../src/pages/rail-parts.ts'
import { byDate } from '../desk/ranking.ts'
import { isWeekly } from '../world/articles.ts'
import type { World } from '../world/world.ts'
import { kindWords } from './flag-parts.ts'
import { pageSource } from './page-source.ts'
import { statusChangeOf } from './rail-timeline.ts'
import { railParts, shownRails } from './shown-rails.ts'
import type { ShownRail } from './shown-rails.ts'

const days = 7

const parts = [
  'articles',
  'closedFlags',
  'community',
  'disputes',
  'events',
  'history',
  'openFlags',
  'pacts',
  ...railParts,
] as const
type WeekWorld = Pick<World, (typeof parts)[number]>

type Rails = ReadonlyMap<string, ShownRail['view']>

export const weekPage = pageSource(parts, (world) => {
  const fromMs = (Math.floor(world.nowMs / dayMs) - days + 1) * dayMs
  const shown = shownRails(world)
  const rails = new Map(shown.map(({ view }) => [view.rail, view]))
  const changes = changesOf(world, fromMs)
  const flags = [...world.openFlags, ...world.closedFlags].filter((flag) => !isReaderTrouble(flag))
  const since = (at: string | undefined) => at !== undefined && Date.parse(at) >= fromMs
  const opened = flags.filter((flag) => since(flag.opened_at)).toSorted(bySeverity)
  const closed = flags.filter((flag) => since(flag.closed_at))
  const settled = world.pacts.settled.filter((pact) => since(pact.settled_at))
  const fresh = shown.filter(({ view }) => firstReadMs(view.rail, world) >= fromMs)
  const essays = world.articles
    .filter((article) => !isWeekly(article) && since(`${article.date}T00:00:00Z`))
    .toSorted(byDate)
  const disputes = world.disputes.newest.filter((one) => one.steps.some(({ at }) => since(at)))
  const sum = sumOf({ changes, rails, opened, closed: closed.length, disputes: disputes.length })
  const none: string[] = []
  /** Null without entries; then `none` names what did not happen. */
  const part = (id: string, title: string, what: string, entries: Parameters<typeof rows>[0]) => {
    if (entries.length > 0) return section(id, `${title}: ${entries.length}`, rows(entries))
    none.push(what)
    return null
  }
  return {
    path: '/week',
    title: 'What changed this week',
    description: `${sum} Status changes, doubts, first readings, pacts and receipts of the last seven days.`,
    nav: '/week',
    feeds: [
      atomFeed('/feeds/transitions.atom', 'Status changes'),
      atomFeed('/feeds/flags.atom', 'Flags'),
    ],
    body: [
      verdict(sum),
      introduction(
        inline`From ${day(fromMs)} to ${day(world.nowMs)} in UTC. ${link('/feeds/transitions.atom', 'Feed of status changes')} · ${link('/feeds/flags.atom', 'Feed of flags')}`,
      ),
      part(
        'status',
        'Status changes',
        'a change of status',
        changes.map(({ rail, from, to, atMs, rules_changed: byNewRules }) => ({
          name: railLinkOf(rail, rails),
          text: inline`${pill(from)} → ${pill(to)}${byNewRules !== undefined ? small(' by new rules') : null}`,
          end: day(atMs),
        })),
      ),
      part(
        'opened',
        'New doubts',
        'a new doubt',
        opened.map((flag) => flagRow(flag, rails)),
      ),
      part(
        'closed',
        'Doubts that closed',
        'a doubt that closed',
        closed.map((flag) => flagRow(flag, rails)),
      ),
      part(
        'disputes',
        'Disputes opened or decided',
        'a dispute that opened or was decided',
        disputes.map(({ dispute_id: id, claim, rail, steps }) => {
          const ofWeek = steps.filter(({ at }) => since(at))
          return {
            name: rail === undefined ? 'A receipt or document' : railLinkOf(rail, rails),
            text: inline`${link(disputePath(id), untrustedText(shortened(claim ?? 'withheld')))} ${small(ofWeek.map(({ event }) => event).join(', '))}`,
            end: day(ofWeek.at(-1)?.at ?? null),
          }
        }),
      ),
      part(
        'pacts',
        'Pacts that settled',
        'a pact that settled',
        settled.map((pact) => ({
          name: link(pactPath(pact.pact_id), untrustedText(pact.title ?? pact.job_id)),
          text: inline`${usdc(pact.amount_usdc)} on ${pact.chain}`,
          end: day(pact.settled_at),
        })),
      ),
      section('receipts', 'Receipts', para(receiptsText(world, fromMs))),
      part(
        'first',
        'Rails read for the first time',
        'a rail read for the first time',
        fresh.map(({ view }) => ({
          name: railLink(view),
          text: statusPill(view, world),
          end: day(firstReadMs(view.rail, world)),
        })),
      ),
      failedPolls(shown, world, fromMs),
      part(
        'essays',
        'Essays of the desk',
        'an essay of the desk',
        essays.map(({ slug, title, excerpt, date }) => ({
          name: link(articlePath(slug), untrustedText(title)),
          text: untrustedText(excerpt),
          end: day(date),
        })),
      ),
      none.length === 0 ? null : para(`Not in these days: ${none.join(', ')}.`, 'soft'),
      links([
        ['/desk', 'Weekly posts with figures'],
        ['/honesty', 'All flags'],
        ['/status', 'Poll status'],
        ['/feeds', 'All feeds'],
        ['/changelog', 'Changes of this website'],
      ]),
    ],
  }
})

function sumOf(found: {
  readonly changes: ReturnType<typeof changesOf>
  readonly rails: Rails
  readonly opened: readonly Flag[]
  readonly closed: number
  readonly disputes: number
}): string {
  const { changes, opened } = found
  const [first] = changes
  const moved =
    first === undefined
      ? 'No rail changed status this week.'
      : changes.length > 1
        ? `${counted(changes.length, 'status change')} this week.`
        : `One rail changed status this week: ${found.rails.get(first.rail)?.display_name ?? first.rail} went from ${first.from} to ${first.to}.`
  const critical = opened.filter(({ severity }) => severity === 'critical').length
  const flags =
    opened.length + found.closed === 0
      ? 'No doubt opened or closed.'
      : `${counted(opened.length, 'doubt')} opened${critical === 0 ? '' : ` (${critical} critical)`}, ${found.closed} closed.`
  return `${moved} ${flags}${found.disputes === 0 ? '' : ` ${counted(found.disputes, 'dispute')} opened or moved on.`}`
}

const shownClaim = 120

function shortened(claim: string): string {
  return claim.length > shownClaim ? `${claim.slice(0, shownClaim).trimEnd()}…` : claim
}

/** Those to and from `paying` first, then the newest. */
function changesOf({ events }: WeekWorld, fromMs: number) {
  const isPaying = ({ from, to }: { from: string; to: string }) =>
    from === 'paying' || to === 'paying'
  return events
    .filter(({ createdAtMs }) => createdAtMs >= fromMs)
    .flatMap(statusChangeOf)
    .toSorted((a, b) => Number(isPaying(b)) - Number(isPaying(a)) || b.atMs - a.atMs)
}

function flagRow(flag: Flag, rails: Rails) {
  const { rail, closed_at: closedAt, close_reason: reason } = flag
  const why =
    closedAt === undefined || reason === undefined ? null : inline` ${untrustedText(reason)}`
  const severity = {
    html: html`<span class="severity">${flag.severity}</span>`,
    md: `${flag.severity}:`,
  }
  const title = titleWithout(rails.get(rail ?? '')?.display_name ?? '', flag.title)
  return {
    name: rail === null ? 'The ledger' : railLinkOf(rail, rails),
    text: doubt(
      closedAt === undefined ? flag.severity : 'none',
      inline`${severity} ${link(`/honesty#${flag.id}`, untrustedText(title))} ${small(inline`${kindWords(flag)}.${why}`)}`,
    ),
    end: day(closedAt ?? flag.opened_at),
  }
}

/** Of the newest receipts only, which the page of receipts lists. */
function receiptsText({ community }: WeekWorld, fromMs: number): Inline {
  const ofWeek = community.receipts.filter((one) => Date.parse(one.accepted_at) >= fromMs)
  const verified = ofWeek.filter((one) => one.onchain_verified).length
  const isAll = ofWeek.length < community.receipts.length || community.receiptsNext === null
  return inline`${isAll ? '' : 'At least '}${counted(ofWeek.length, 'receipt')} ${ofWeek.length === 1 ? 'was' : 'were'} accepted, and ${verified} of ${isAll ? 'them' : 'these newest'} ${verified === 1 ? 'is' : 'are'} verified on chain. ${link('/receipts', 'Receipts')}`
}

/** The oldest poll that is known; a rail without polls was never read. */
function firstReadMs(rail: string, { history }: WeekWorld): number {
  const good = history.get(rail)?.findLast(({ outcome }) => outcome === 'ok')
  return good?.polledAtMs ?? -Infinity
}

/** Apart, since a failed poll says nothing about the rail. */
function failedPolls(
  rails: readonly ShownRail[],
  { history }: WeekWorld,
  fromMs: number,
): HtmlAndMarkdown {
  const found = rails
    .map(({ view }) => {
      const polls = history.get(view.rail) ?? []
      const end = polls.findIndex(({ polledAtMs }) => polledAtMs < fromMs)
      const ofWeek = end === -1 ? polls : polls.slice(0, end)
      return {
        view,
        polls: ofWeek.length,
        failed: ofWeek.filter(({ outcome }) => outcome === 'failed'),
      }
    })
    .filter(({ failed }) => failed.length > 0)
    .toSorted((a, b) => b.failed.length - a.failed.length)
  const total = found.reduce((sum, { failed }) => sum + failed.length, 0)
  return section(
    'failed',
    'Failed polls',
    para('They say nothing about a rail: our reader could not read it.', 'soft'),
    found.length === 0
      ? para('No poll failed.')
      : folded(
          `${counted(total, 'failed poll')} of ${counted(found.length, 'rail')}`,
          rows(
            found.map(({ view, polls, failed }) => ({
              name: railLink(view),
              text: untrustedText(failed[0]?.error ?? 'no reason recorded'),
              end: `${failed.length} of ${counted(polls, 'poll')}, ${isoDate(failed[0]?.polledAtMs ?? 0)}`,
            })),
          ),
        ),
  )
}
