/** Disputes: claims and answers of the operator. The ledger takes no side in the text of a claim. */
import type { Dispute, DisputeStep } from '../contract/schemas/dispute.ts'
import { fact, facts, introduction, links, list, section } from './blocks.ts'
import { hash, pill, time } from './figures.ts'
import { address, code, inline, link, untrustedText } from './html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from './html-and-markdown.ts'
import type { SitePage } from './page.ts'
import { disputePath, railPath, receiptPath } from './paths.ts'
import { cell, column, table, timeColumn } from './table.ts'

export const subjectFirst = (disputes: readonly Dispute[]): readonly Dispute[] =>
  disputes.toSorted((a, b) => Number(b.standing === 'subject') - Number(a.standing === 'subject'))

export function disputeTable(caption: Inline, disputes: readonly Dispute[]): HtmlAndMarkdown {
  return table(disputes, {
    id: 'disputes',
    caption,
    columns: [
      column('Dispute', ({ dispute_id: id }) => cell(link(disputePath(id), hash(id)), id)),
      column('State', (dispute) => stateText(dispute)),
      column('About', (dispute) => targetLink(dispute)),
      column('By', ({ wallet, standing }) =>
        cell(inline`${hash(wallet)}, ${standings[standing]}`, standing),
      ),
      column('Claim and answer', wordsOf, { sortable: false, kind: 'wide' }),
      timeColumn('Opened', (dispute) => dispute.opened_at),
    ],
    empty: 'No disputes.',
  })
}

/** Section on the page of the disputed data; null without disputes. */
export function disputeSection(disputes: readonly Dispute[]): HtmlAndMarkdown | null {
  if (disputes.length === 0) return null
  const caption = 'Claims by others and answers of the operator, in their own words.'
  return section('disputes', 'Disputes', disputeTable(caption, subjectFirst(disputes)))
}

export function disputePage(dispute: Dispute): SitePage {
  const { dispute_id: id, steps } = dispute
  return {
    path: disputePath(id),
    title: `Dispute ${id.slice(0, 12)}…`,
    description: `A claim about published data, ${dispute.state}; with the statements of both sides.`,
    nav: '/honesty',
    listed: false,
    body: [
      introduction(
        inline`${stateText(dispute)} · a claim by ${code(dispute.wallet)}, ${standings[dispute.standing]}`,
      ),
      facts([
        ['About', targetLink(dispute)],
        'sha256' in dispute.target ? ['SHA-256', code(dispute.target.sha256)] : null,
        fact('Figure', dispute.figure, untrustedText),
        fact('Rail', dispute.rail, (rail) => link(railPath(rail), untrustedText(rail))),
        fact('Evidence named by the disputer', dispute.evidence_url, address),
      ]),
      section('words', 'Both sides', list(steps.map((step) => stepText(step)))),
      links([
        [`/api/v1/disputes/${id}`, 'JSON'],
        ['/disputes', 'All disputes'],
        ['/docs/disputing', 'How to dispute'],
      ]),
    ],
  }
}

const standings: Readonly<Record<Dispute['standing'], string>> = {
  subject: 'who speaks for the rail',
  anyone: 'not known to speak for the rail',
  unknown: 'whose relation to the rail has not been checked yet',
}

function stateText({ state, unanswered }: Dispute): HtmlAndMarkdown {
  return unanswered === true ? inline`${pill(state)} unanswered for 14 days` : pill(state)
}

function targetLink({ target }: Dispute): HtmlAndMarkdown {
  if ('flag_id' in target) return link(`/honesty#${target.flag_id}`, code(target.flag_id))
  if ('receipt_id' in target) return link(receiptPath(target.receipt_id), hash(target.receipt_id))
  return link(target.path, code(target.path))
}

function wordsOf({ steps, figure, evidence_url: url }: Dispute): HtmlAndMarkdown {
  const about = figure === undefined ? null : inline` About ${untrustedText(figure)}.`
  const evidence = url === undefined ? null : inline` Evidence named: ${address(url)}.`
  const words = steps.map((step) => inline`${stepText(step)} `)
  return inline`${words}${about}${evidence}`
}

const speakers: Readonly<Record<DisputeStep['event'], string>> = {
  opened: 'the disputer claims',
  answered: 'the operator answers',
  upheld: 'the operator agrees',
  rejected: 'the operator disagrees',
  withdrawn: 'the disputer withdrew the claim',
}

function stepText({ event, at, text }: DisputeStep): HtmlAndMarkdown {
  const words = text === undefined ? '.' : inline`: “${untrustedText(text)}”`
  return inline`${time(at)}, ${speakers[event]}${words}`
}
