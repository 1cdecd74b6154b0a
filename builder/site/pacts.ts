/** `/pacts`: settled, in flight and recorded pacts. */
import { introduction, links, section, verifyBox } from '../../src/pages/blocks.ts'
import { hash, pill } from '../../src/pages/figures.ts'
import { untrustedText, link, inline } from '../../src/pages/html-and-markdown.ts'
import { atomFeed } from '../../src/pages/page.ts'
import { pactPath, receiptPath } from '../../src/pages/paths.ts'
import {
  amountColumn,
  cell,
  column,
  fixedColumn,
  table,
  timeColumn,
} from '../../src/pages/table.ts'
import type { World } from '../world/world.ts'
import { sourceOf } from './pact.ts'
import { pageSource } from './page-source.ts'

export const pactsPage = pageSource(['pacts', 'rails'], ({ pacts, rails }) => {
  const { settled, inFlight, recorded } = pacts
  return {
    path: '/pacts',
    title: 'Pacts',
    description: `${settled.length} settled and ${inFlight.length} in flight: agreements whose payment can be verified on-chain. ${recorded.length} more ${recorded.length === 1 ? 'is' : 'are'} recorded.`,
    nav: '/pacts',
    json: ['/api/v1/pacts'],
    feeds: [atomFeed('/feeds/pacts.atom', 'Pacts')],
    body: [
      introduction(
        inline`A pact is an agreement between a payer and a worker. It is in flight until a receipt for it is verified on-chain, and settled from then on. Its manifest, the escrow contract and the receipt must agree; if they do not, an ${link('/honesty', 'honesty flag')} reports the contradiction. ${link('/pacts/SKILL.md', 'How an agent checks a pact')}.`,
      ),
      section(
        'settled',
        'Settled',
        table(settled, {
          id: 'settled-pacts',
          caption: 'Each pact is listed with its transaction and its verified receipt.',
          columns: [
            column('Pact', pactCell),
            amountColumn('Amount', 'USDC', (pact) => pact.amount_usdc),
            column('Chain', ({ chain }) => chain),
            fixedColumn('Transaction', (pact) => link(pact.explorer_url, hash(pact.tx_hash))),
            fixedColumn('Receipt', ({ receipt_id: id }) => link(receiptPath(id), hash(id))),
            timeColumn('Settled', (pact) => pact.settled_at),
          ],
          empty: 'No settlement has been verified yet.',
        }),
      ),
      section(
        'in-flight',
        'In flight',
        table(inFlight, {
          id: 'pacts-in-flight',
          caption: 'A pact in flight does not prove a payment.',
          columns: [
            column('Pact', pactCell),
            column('Phase', (pact) => pill(pact.phase_status)),
            fixedColumn('Blocked by', ({ phase_blocker: blocker }) =>
              blocker === null ? 'nothing' : untrustedText(blocker),
            ),
            fixedColumn('Next', (pact) => untrustedText(pact.next_action), 'wide'),
            timeColumn('Updated', (pact) => pact.updated_at),
          ],
          empty: 'No pacts are in flight.',
        }),
      ),
      section('recorded', 'Recorded, not settled here', recordedTable(recorded)),
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

/** The title of a pact, or its job id if it has none, with a link to its page. */
function pactCell(pact: {
  readonly pact_id: string
  readonly job_id: string
  readonly title?: string | undefined
}) {
  const title = untrustedText(pact.title ?? pact.job_id)
  return cell(link(pactPath(pact.pact_id), title), pact.job_id)
}

function recordedTable(recorded: World['pacts']['recorded']) {
  return table(recorded, {
    id: 'recorded-pacts',
    caption:
      'Pacts published by third parties or found in the escrow contract. None has a verified receipt in this ledger. The word “unverified” means that no on-chain check has been made.',
    columns: [
      column('Pact', pactCell),
      column('Verification', ({ verification }) => pill(verification)),
      column('Claimed', ({ published }) => published?.as.replace('_', ' ') ?? 'nothing'),
      column(
        'Amount',
        ({ published, escrow }) =>
          String(published?.amount_pact ?? escrow?.amount_pact ?? 'not stated'),
        { unit: 'PACT' },
      ),
      column('Escrow status', ({ escrow }) => escrow?.status ?? 'not read'),
      fixedColumn('Source', sourceOf),
    ],
    empty: 'No other pacts are recorded.',
  })
}
