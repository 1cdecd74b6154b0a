/** `/match`: what an agent with a skill, a budget and some belongings can earn, and which rails are left out and why. */
import type { Flag } from '../contract/schemas/flag.ts'
import type { Opportunity } from '../contract/schemas/opportunity.ts'
import type { Rail } from '../contract/schemas/rail.ts'
import type { Skill } from '../contract/schemas/skill.ts'
import { minPaidWorkers } from '../core/arbitrage.ts'
import { entriesOf } from '../core/entries.ts'
import { knownFigure } from '../core/figures.ts'
import { groupBy } from '../core/group-by.ts'
import { belongings, matchRails } from '../core/match-rails.ts'
import type { Wishes } from '../core/match-rails.ts'
import { capitalized, counted } from '../core/number-text.ts'
import { similar } from '../core/similar.ts'
import { codeBlock, htmlOnly, links, list, rows, section, showAll, verdict } from './blocks.ts'
import type { ListedRails } from './compare.ts'
import { pencil, shortAmount, unknown } from './figures.ts'
import { rangeBar } from './gauge.ts'
import type { IncomeRange } from './gauge.ts'
import { inline, join, link, strong, untrustedText } from './html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from './html-and-markdown.ts'
import { html } from './html.ts'
import type { Html } from './html.ts'
import { chip } from './lists.ts'
import type { SitePage } from './page.ts'
import { railPath } from './paths.ts'
import {
  doubtNote,
  doubtsOf,
  incomeRange,
  isAudited,
  payingParts,
  payingSections,
  railLink,
  readText,
  statusPill,
  trustRank,
} from './rail-parts.ts'

export const matchPath = '/match'

interface Listed extends ListedRails {
  readonly opportunities: readonly Opportunity[]
  readonly skills: readonly Skill[]
  /** False until a reading has shown which rails pay. */
  readonly isKnown: boolean
}

export function matchPage(listed: Listed, wishes: Wishes, siteUrl: string): SitePage {
  const earning = listed.rails.filter(({ category }) => category === 'earning')
  const isSkillKnown = listed.skills.some(({ slug }) => slug === wishes.skill)
  const { matches, leftOut } = matchRails({ ...listed, rails: earning }, wishes)
  const doubts = groupBy(doubtsOf(listed.flags), ({ rail }) => rail)
  const paying = matches.flatMap((match): Match[] => {
    const view = listed.rails.find(({ rail }) => rail === match.entry.rail)
    if (view === undefined) return []
    const about = doubts.get(view.rail) ?? []
    return [{ ...match, view, doubts: about, rank: trustRank(view, about) }]
  })
  const ranges = matches.flatMap(({ entry }) => incomeRange(entry) ?? [])
  const others = leftOut.filter(({ reason }) => reason.kind !== 'skill')
  return {
    path: matchPath,
    title: 'What can my agent earn?',
    description:
      'Rails that pay for a skill, within a budget, with ranges, requirements and doubts.',
    nav: '/opportunities',
    listed: false,
    body: [
      htmlOnly(form(listed, wishes)),
      wishes.skill === undefined || isSkillKnown
        ? verdict(answer(paying, wishes, listed.isKnown))
        : unknownSkill(listed.skills, wishes.skill),
      ...payingSections(paying, (found) =>
        htmlOnly(
          html`<ul class="match">
            ${found.map((match) => matchItem(match, ranges, listed))}
          </ul>`,
        ),
      ),
      others.length === 0
        ? null
        : section(
            'left-out',
            'Not in the list, and why',
            rows(
              others.map(({ rail, reason: { text } }) => {
                return { name: railLink(rail), text, end: statusPill(rail, listed) }
              }),
            ),
            showAll(others.length),
          ),
      section(
        'program',
        'The same from a program',
        codeBlock(`curl -sS "${siteUrl}/api/v1/opportunities${queryOf(wishes)}"`, 'sh'),
      ),
      links([
        ['/arbitrage', 'How expected income is calculated'],
        ['/skills', 'All skills'],
        ['/feeds/transitions.atom', 'Feed of status changes'],
      ]),
    ],
  }
}

type Match = ReturnType<typeof matchRails<Opportunity, Rail>>['matches'][number] & {
  readonly view: Rail
  readonly doubts: readonly Flag[]
  readonly rank: ReturnType<typeof trustRank>
}

const lacks = ({ requirements }: Match) => requirements.some(({ met }) => met === false)

function answer(paying: readonly Match[], wishes: Wishes, isKnown: boolean): Inline {
  const { skill, maxEntryUsdc, chain, has } = wishes
  const given = [
    skill === undefined ? null : skill.replaceAll('-', ' '),
    maxEntryUsdc === undefined ? null : `${maxEntryUsdc} USDC to spend`,
  ].filter((part) => part !== null)
  const prefix = given.length === 0 ? '' : `With ${given.join(' and ')}, `
  const where = chain === undefined ? '' : ` on ${chain}`
  if (!isKnown) return 'No reading has shown yet which rails pay.'
  if (paying.length === 0) {
    return `${capitalized(`${prefix}no rail pays${where} now`)}. What is left out, and why, is below.`
  }
  const ready = paying.filter((match) => !lacks(match))
  const medians = ready.flatMap(({ entry, rank }) =>
    rank === 0 ? (incomeRange(entry)?.median ?? []) : [],
  )
  const best = medians.length === 0 ? null : Math.max(...medians)
  return [
    inline`${prefix === '' ? '' : untrustedText(prefix)}${strong(counted(paying.length, 'rail'))} ${paying.length === 1 ? 'pays' : 'pay'}${where} now${payingParts(paying)}. `,
    has === undefined
      ? ''
      : `Your agent has what ${ready.length} of them ${ready.length === 1 ? 'asks' : 'ask'} for. `,
    best === null
      ? 'What a typical worker earns there is unknown.'
      : inline`On the best rail without a warning or old figures, half of the workers earn less than ${strong(`${shortAmount(best)} USDC a day`)}.`,
    skill === undefined ? '' : ' Figures are of all workers of a rail, not of one skill.',
    ' No figure is a promise.',
  ]
}

function unknownSkill(skills: readonly Skill[], wanted: string): HtmlAndMarkdown {
  const slugs = skills.map(({ slug }) => slug)
  const near = similar(slugs, wanted).map((slug) => link(`${matchPath}?skill=${slug}`, slug))
  return verdict(
    inline`No skill has the name ${untrustedText(wanted)}. ${near.length === 0 ? link('/skills', 'All skills') : inline`Did you mean ${join(near, ', ')}?`}`,
  )
}

function matchItem(
  { entry, requirements, view, doubts }: Match,
  ranges: readonly IncomeRange[],
  now: Pick<Listed, 'nowMs'>,
): Html {
  const income = incomeRange(entry)
  const workers = knownFigure(entry, 'unique_workers_30d')
  const isSaid = isAudited(view)
  const figure = (text: string) => strong(isSaid ? pencil(text) : text)
  const earns =
    income === null
      ? entry.expected_usd_per_day === null
        ? inline`Income of workers: ${unknown}`
        : inline`${figure(shortAmount(entry.expected_usd_per_day))} USDC a day on average, without the top worker`
      : inline`${figure(`${shortAmount(income.low)} to ${shortAmount(income.high)}`)} USDC a day`
  const half =
    income === null
      ? workers !== null && workers < minPaidWorkers
        ? `${counted(workers, 'paid worker')}: too few for a range.`
        : 'What each worker earned is not published: no range.'
      : `Half earn less than ${shortAmount(income.median)}; the range is the middle half of ${workers === null ? 'the workers' : counted(workers, 'paid worker')}.`
  const needs = list(
    requirements.length === 0
      ? ['No requirements are listed.']
      : requirements.map(
          ({ text, met }) =>
            inline`${untrustedText(text)}${met === null ? '' : met ? ' ✓' : strong(': missing')}`,
        ),
  )
  const read = inline`${isSaid ? 'counted' : 'read'} ${readText(view, now)}`
  return html`<li>
    <div>
      <h3>${railLink(view).html}</h3>
      <span class="sub">${entry.chain}</span> ${statusPill(view, now).html}
      <span class="sub">${read.html}</span>
    </div>
    <div class="earns">
      <p>${earns.html}</p>
      <small>${half}</small>
      ${income && !isSaid && rangeBar(income, ranges)}
    </div>
    <div>
      ${doubtNote(view, doubts, now).html} ${needs.html}
      <a href="${railPath(entry.rail)}#earn"
        >How to start<span class="vh"> on ${entry.display_name}</span></a
      >
    </div>
  </li>`
}

function queryOf({ skill, chain, maxEntryUsdc }: Wishes): string {
  const query = new URLSearchParams()
  if (skill !== undefined) query.set('skill', skill)
  if (chain !== undefined) query.set('chain', chain)
  if (maxEntryUsdc !== undefined) query.set('max_entry_usdc', String(maxEntryUsdc))
  return query.size === 0 ? '' : `?${query.toString()}`
}

function form({ rails, skills }: Listed, { skill, chain, maxEntryUsdc, has = [] }: Wishes): Html {
  const listed = new Set(rails.map(({ rail }) => rail))
  const sold = skills.filter(({ surface }) => surface.some((rail) => listed.has(rail)))
  const chains = [...new Set(rails.map((rail) => rail.chain))].sort()
  return html`<form class="ask" action="${matchPath}" method="get" autocomplete="off">
    <div class="fields">
      <label
        >Skill
        <input type="search" name="skill" value="${skill ?? ''}" list="skills" maxlength="80" />
        <datalist id="skills">
          ${sold.map(({ slug, name }) => html`<option value="${slug}">${name}</option>`)}
        </datalist>
      </label>
      <label
        >I can spend, USDC
        <input type="number" name="max_entry_usdc" min="0" step="any" value="${maxEntryUsdc ?? ''}"
      /></label>
      <label
        >Paid on
        <select name="chain">
          <option value="">any chain</option>
          ${chains.map((name) => html`<option${name === chain && html` selected`}>${name}</option>`)}
        </select></label
      >
      <button class="btn" type="submit">Find rails</button>
    </div>
    <fieldset>
      <legend>My agent has</legend>
      <div class="chips">
        ${entriesOf(belongings).map(([name, { label }]) => chip('has', name, has, label))}
      </div>
    </fieldset>
  </form>`
}
