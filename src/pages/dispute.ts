/** Disputes: the claims and the answers of the operator, each in a block. The ledger takes no side in the text of a claim. */
import type { Dispute, DisputeStep } from '../contract/schemas/dispute.ts'
import { fact, facts, links, para, section, stacked, standing, verdict } from './blocks.ts'
import { day, hash, pill, sub, time } from './figures.ts'
import { address, code, inline, link, strong, untrustedText } from './html-and-markdown.ts'
import type { HtmlAndMarkdown } from './html-and-markdown.ts'
import { html } from './html.ts'
import { railName } from './names.ts'
import type { Names } from './names.ts'
import { entryOf } from './page.ts'
import type { SitePage } from './page.ts'
import { disputePath, receiptPath } from './paths.ts'

/** Claims about one target on its page, besides those of subjects and upheld ones. Anyone can open and withdraw more. */
const shownOfOthers = 5

export function disputeList(caption: string, disputes: readonly Dispute[]): HtmlAndMarkdown {
  if (disputes.length === 0) return para('No disputes.', 'empty')
  const shown = disputes.map((dispute) =>
    stacked([
      standing([
        stateText(dispute),
        link(disputePath(dispute.dispute_id), `Dispute of ${day(dispute.opened_at).md}`),
        inline`about ${targetLink(dispute)}`,
        inline`by ${hash(dispute.wallet)}, ${standings[dispute.standing]}`,
      ]),
      words(dispute),
      about(dispute),
    ]),
  )
  const intro = para(caption, 'caption')
  return {
    html: html`${intro.html}
      <ol class="disputes">
        ${shown.map((dispute) => html`<li>${dispute.html}</li>`)}
      </ol>`,
    md: [intro.md, ...shown.map(({ md }) => md)].join('\n\n'),
  }
}

/** Section on the page of the disputed data; null without disputes. `all`: where the rest is listed. */
export function disputeSection(
  disputes: readonly Dispute[],
  all = '/disputes',
): HtmlAndMarkdown | null {
  if (disputes.length === 0) return null
  const caption = 'Claims by others and answers of the operator, in their own words.'
  const others = new Map<string | undefined, number>()
  const shown = disputes.filter(({ standing, state, target }) => {
    if (standing === 'subject' || state === 'upheld') return true
    const [key] = Object.values(target)
    const earlier = others.get(key) ?? 0
    others.set(key, earlier + 1)
    return earlier < shownOfOthers
  })
  return section('disputes', 'Disputes', disputeList(caption, shown), links([[all, 'All of them']]))
}

export function disputePage(dispute: Dispute, names: Pick<Names, 'rails'>): SitePage {
  const { dispute_id: id } = dispute
  return {
    path: disputePath(id),
    title: `Dispute of ${day(dispute.opened_at).md}`,
    description: `A claim about published data, ${dispute.state}; with the statements of both sides.`,
    ...entryOf('/disputes', 'Disputes', `${id.slice(0, 12)}…`),
    body: [
      standing([stateText(dispute), inline`opened ${time(dispute.opened_at)}`]),
      verdict(verdicts[dispute.state]),
      facts([
        ['About', targetLink(dispute)],
        ['Disputed by', inline`${code(dispute.wallet)} ${sub(standings[dispute.standing])}`],
        'sha256' in dispute.target ? ['SHA-256', code(dispute.target.sha256)] : null,
        fact('Disputed figure', dispute.figure, untrustedText),
        fact('Rail', dispute.rail, (rail) => railName(rail, names)),
        fact('Evidence named by the disputer', dispute.evidence_url, address),
      ]),
      section('words', 'Both sides', words(dispute)),
      links([
        [`/api/v1/disputes/${id}`, 'JSON'],
        ['/disputes', 'All disputes'],
        ['/docs/disputing', 'How to dispute'],
      ]),
    ],
  }
}

const verdicts: Readonly<Record<Dispute['state'], string>> = {
  open: 'Somebody says that this is wrong. The operator has not answered yet.',
  answered: 'Somebody says that this is wrong. The operator has answered and not decided.',
  upheld: 'The operator agrees that this was wrong.',
  rejected: 'Somebody says that this is wrong. The operator disagrees.',
  withdrawn: 'The disputer has withdrawn this claim.',
}

const standings: Readonly<Record<Dispute['standing'], string>> = {
  subject: 'who speaks for the rail',
  anyone: 'not known to speak for the rail',
  unknown: 'whose relation to the rail has not been checked yet',
}

function stateText({ state, unanswered }: Dispute): HtmlAndMarkdown {
  return unanswered === true ? inline`${pill(state)} unanswered for 14 days` : pill(state)
}

function targetLink({ target, steps: [opened] }: Dispute): HtmlAndMarkdown {
  if ('flag_id' in target) return link(`/honesty#${target.flag_id}`, code(target.flag_id))
  if ('receipt_id' in target) return link(receiptPath(target.receipt_id), hash(target.receipt_id))
  const isCurrent = opened?.target_is_current !== false
  return inline`${link(target.path, code(target.path))}${isCurrent ? null : ' with a hash that was not published when the dispute was opened, and is not known to have been published before'}`
}

function about({ figure, evidence_url: url }: Dispute): HtmlAndMarkdown | null {
  if (figure === undefined && url === undefined) return null
  const named = figure === undefined ? null : inline`Disputed figure: ${untrustedText(figure)}. `
  const evidence =
    url === undefined ? null : inline`Evidence named by the disputer: ${address(url)}`
  return para(inline`${named}${evidence}`, 'sub')
}

const speakers: Readonly<Record<DisputeStep['event'], readonly ['disputer' | 'operator', string]>> =
  {
    opened: ['disputer', 'The disputer claims'],
    answered: ['operator', 'The operator answers'],
    upheld: ['operator', 'The operator agrees'],
    rejected: ['operator', 'The operator disagrees'],
    withdrawn: ['disputer', 'The disputer withdrew the claim'],
    withheld: ['operator', 'The operator withheld the words of the disputer'],
  }

/** One block for each statement: a text cannot open one, so it cannot pass for the words of the other side. */
function words({ steps }: Dispute): HtmlAndMarkdown {
  const shown = steps.map(({ event, at, text, sha256 }) => {
    const [speaker, says] = speakers[event]
    return {
      speaker,
      who: inline`${strong(says)}, ${time(at)}${sha256 === undefined ? null : inline`, withheld; SHA-256 of this step in the log: ${code(sha256)}`}`,
      text: text === undefined ? null : untrustedText(text),
    }
  })
  return {
    html: html`${shown.map(
      ({ speaker, who, text }) =>
        html`<div class="words ${speaker}">
          <p>${who.html}</p>
          ${text && html`<blockquote>${text.html}</blockquote>`}
        </div>`,
    )}`,
    md: shown
      .map(({ who, text }) => (text === null ? who.md : `${who.md}:\n\n> ${text.md}`))
      .join('\n\n'),
  }
}
