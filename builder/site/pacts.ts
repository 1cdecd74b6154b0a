/** `/pacts`: settled, in flight and recorded pacts. */
import { counted } from '../../src/core/number-text.ts'
import {
  doubt,
  folded,
  introduction,
  keyFigures,
  links,
  para,
  rows,
  section,
  verdict,
  verifyBox,
} from '../../src/pages/blocks.ts'
import { amount, day, hash, pencil, sub, usdc } from '../../src/pages/figures.ts'
import { inline, link, small, strong, untrustedText } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from '../../src/pages/html-and-markdown.ts'
import { atomFeed } from '../../src/pages/page.ts'
import { pactPath, receiptPath } from '../../src/pages/paths.ts'
import type { World } from '../world/world.ts'
import { escrowVerdict, pactText, seenOf, transaction } from './pact-sources.ts'
import type { AnyPact } from './pact-sources.ts'
import { markOf, sourceOf } from './pact.ts'
import { pageSource } from './page-source.ts'

export const pactsPage = pageSource(['pacts', 'rails'], ({ pacts, rails }) => {
  const { settled, inFlight, recorded, disagreements, unread } = pacts
  const paidUsdc = settled.reduce((sum, pact) => sum + pact.amount_usdc, 0)
  const held = (pact: AnyPact): Inline =>
    inline`${escrowVerdict(seenOf(pact, pacts))} ${disagreements.has(pact.pact_id) ? doubt('warning', 'Sources disagree.') : null}`
  return {
    path: '/pacts',
    title: 'Pacts',
    description: `${settled.length} settled and ${inFlight.length} in flight: agreements whose payment can be verified on-chain. ${recorded.length} more ${recorded.length === 1 ? 'is' : 'are'} recorded.`,
    nav: '/pacts',
    json: ['/api/v1/pacts'],
    feeds: [atomFeed('/feeds/pacts.atom', 'Pacts')],
    body: [
      verdict(
        `${settled.length === 0 ? 'No pact is settled by a verified receipt yet.' : `${counted(settled.length, 'pact')} settled: a verified receipt shows the payment.`} ${inFlight.length} in flight, ${recorded.length} recorded from others.`,
      ),
      introduction(
        inline`A pact is an agreement between a payer and a worker. It is in flight until a receipt for it is verified on-chain. Its manifest, the escrow contract and the receipt must agree; if they do not, an ${link('/honesty', 'honesty flag')} reports the contradiction. ${link('/pacts/SKILL.md', 'How an agent checks a pact')}.`,
      ),
      keyFigures([
        {
          label: 'Paid',
          value: amount(paidUsdc),
          unit: 'USDC',
          note: `${counted(settled.length, 'pact')} settled by a verified receipt`,
        },
        {
          label: 'In flight',
          value: String(inFlight.length),
          note: `no verified payment yet; ${inFlight.filter((pact) => pact.phase_status === 'blocked').length} blocked`,
        },
        {
          label: 'Contradicting',
          value:
            unread !== null && disagreements.size === 0
              ? pencil('not read')
              : String(disagreements.size),
          note: 'their sources disagree',
          isDoubted: true,
        },
        {
          label: 'Recorded',
          value: String(recorded.length),
          note: 'published by others or found in the escrow',
        },
      ]),
      part(
        'settled',
        'Settled',
        settled.map((pact) => ({
          name: inline`${pactLink(pact)} ${sub(`${pact.job_id} on ${pact.chain}`)}`,
          text: inline`${strong(usdc(pact.amount_usdc))} paid. ${small(inline`Receipt ${link(receiptPath(pact.receipt_id), hash(pact.receipt_id))}, transaction ${transaction(pact.tx_hash, pact.explorer_url)}`)}`,
          end: day(pact.settled_at),
        })),
        'No settlement has been verified yet.',
      ),
      part(
        'in-flight',
        'In flight',
        inFlight.map((pact) => ({
          name: inline`${pactLink(pact)} ${markOf(pact)} ${sub(pact.job_id)}`,
          text: held(pact),
          end: day(pact.updated_at),
        })),
        'No pacts are in flight.',
      ),
      part(
        'recorded',
        'Recorded, not settled here',
        recorded.map((pact) => ({
          name: inline`${pactLink(pact)} ${markOf(pact)} ${sub(pact.job_id)}`,
          text: inline`${claimOf(pact)} ${held(pact)} ${small(sourceOf(pact))}`,
          end: pact.source.noted_on === undefined ? null : day(pact.source.noted_on),
        })),
        'No other pacts are recorded.',
      ),
      verifyBox('/api/v1/pacts'),
      links([
        ['/api/v1/pacts', 'JSON'],
        ['/pacts/SKILL.md', 'Skill file for agents'],
        rails.some(({ authored }) => authored.rail === 'pact')
          ? ['/rails/pact', 'The PACT rail']
          : null,
      ]),
    ],
  }
})

const shownRows = 9

function part(
  id: string,
  title: string,
  entries: Parameters<typeof rows>[0],
  none: string,
): HtmlAndMarkdown {
  return section(
    id,
    entries.length === 0 ? title : `${title}: ${entries.length}`,
    entries.length === 0 ? para(none, 'soft') : rows(entries.slice(0, shownRows)),
    entries.length > shownRows
      ? folded(`${entries.length - shownRows} more`, rows(entries.slice(shownRows)))
      : null,
  )
}

function pactLink(pact: {
  readonly pact_id: string
  readonly job_id: string
  readonly title?: string | undefined
}) {
  return link(pactPath(pact.pact_id), untrustedText(pact.title ?? pact.job_id))
}

/** What others published, in pencil; “unverified” means that no on-chain check was made. */
function claimOf({ published }: World['pacts']['recorded'][number]): Inline {
  if (published === undefined) return 'Nobody published a claim.'
  const { as, amount_pact: claimed } = published
  return inline`Claimed ${as.replace('_', ' ')}: ${pencil(claimed === undefined ? 'no amount' : pactText(claimed))}.`
}
