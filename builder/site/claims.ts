/** What others say about a rail: the audited figures, and the claims that no rule uses. */
import type { AuditClaim, Rail } from '../../src/contract/schemas/rail.ts'
import { entriesOf } from '../../src/core/entries.ts'
import { counted, grouped } from '../../src/core/number-text.ts'
import { daysBetween } from '../../src/core/time.ts'
import { list, para, section } from '../../src/pages/blocks.ts'
import { amountText } from '../../src/pages/figures.ts'
import { inline, link, untrustedText } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from '../../src/pages/html-and-markdown.ts'

type FigureName = keyof Rail['audit']['figures']

const figureTexts: Readonly<Record<FigureName, readonly [label: string, unit: string]>> = {
  tpv_30d_usdc: ['Volume', 'USDC'],
  tpv_30d_raw_usdc: ['Raw volume', 'USDC'],
  unique_creators_30d: ['Creators', 'creators'],
  unique_workers_30d: ['Workers', 'workers'],
  top_worker_share: ['Share of the top worker', 'of 1'],
  payouts_30d: ['Payouts', 'payouts'],
}

const kindTexts: Readonly<Record<AuditClaim['kind'], string>> = {
  counted: '',
  operator: 'the operator says ',
  lower_bound: 'at least ',
  upper_bound: 'at most ',
  estimate: 'an estimate of ',
  lifetime: 'since launch ',
  listing: 'listed, not paid: ',
  offer: 'offered, not paid: ',
}

export function claimSection({ audit }: Rail): HtmlAndMarkdown | null {
  const figures = entriesOf(audit.figures).flatMap(([name, figure]) => {
    if (figure === undefined) return []
    const [label, unit] = figureTexts[name]
    // The rules accept a count of a shorter time only where more days cannot make it smaller.
    const atLeast = daysBetween(figure.from, figure.to) < 28 ? kindTexts.lower_bound : ''
    return [
      inline`${label}: ${atLeast}${amountOf({ ...figure, unit })}, counted by ${untrustedText(figure.counted_by)}; not measured by this ledger. ${untrustedText(figure.method)} The status rules use this figure until a poll succeeds. ${sourceLink(figure)}`,
    ]
  })
  const sentences = [...figures, ...audit.claims.map(claimSentence)]
  if (sentences.length === 0) return null
  const unused =
    'What others count or claim is not checked here. No total contains it, and the status rules use only what is marked.'
  return section('claims', 'What others say', para(unused), list(sentences))
}

function claimSentence(claim: AuditClaim): Inline {
  const { kind, covers } = claim
  const who = covers === 'mixed' ? '' : ` It covers ${covers} only.`
  return inline`${untrustedText(claim.figure)}: ${kindTexts[kind]}${amountOf(claim)}, counted by ${untrustedText(claim.counted_by)}; not measured by this ledger. ${untrustedText(claim.method)}${who} ${sourceLink(claim)}`
}

const sourceLink = ({ source }: Pick<AuditClaim, 'source'>) => link(source, 'Source')

/** `201,656.22 USDC in 28 days to 2026-09-27`. */
function amountOf({
  value,
  unit,
  from,
  to,
}: Pick<AuditClaim, 'from' | 'to' | 'unit' | 'value'>): Inline {
  const isMoney = unit.startsWith('USD') && !Number.isInteger(value)
  const shown = isMoney ? amountText(value) : grouped(String(value))
  const window =
    from === null ? `as of ${to}` : `in ${counted(daysBetween(from, to), 'day')} to ${to}`
  return inline`${shown} ${untrustedText(unit)} ${window}`
}
