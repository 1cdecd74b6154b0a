/** `/pacts`: settled, in flight and recorded pacts. */
import { introduction, links, section, verifyBox } from '../../src/pages/blocks.ts'
import { amountCell, timeCell } from '../../src/pages/cells.ts'
import { hash, pill } from '../../src/pages/figures.ts'
import { untrustedText, link, inline } from '../../src/pages/html-and-markdown.ts'
import { jsonAlternate } from '../../src/pages/page.ts'
import type { SitePage } from '../../src/pages/page.ts'
import { pactPath, receiptPath } from '../../src/pages/paths.ts'
import { cell, table } from '../../src/pages/table.ts'
import type { World } from '../world/world.ts'
import { sourceOf } from './pact.ts'

type Recorded = World['pacts']['recorded'][number]

export function pactsPage({ pacts, rails }: Pick<World, 'pacts' | 'rails'>): SitePage {
  const { settled, inFlight, recorded } = pacts
  return {
    path: '/pacts',
    title: 'Pacts',
    description: `${settled.length} settled and ${inFlight.length} in flight: agreements whose payment can be verified on-chain. ${recorded.length} more ${recorded.length === 1 ? 'is' : 'are'} recorded.`,
    nav: '/pacts',
    alternates: [jsonAlternate('/api/v1/pacts')],
    body: [
      introduction(
        inline`A pact is an agreement between a payer and a worker. It is in flight until a receipt for it is verified on-chain, and settled from then on. Its manifest, the escrow contract and the receipt must agree; if they do not, an ${link('/honesty', 'honesty flag')} reports it. ${link('/pacts/SKILL.md', 'How an agent checks a pact')}.`,
      ),
      section(
        'settled',
        'Settled',
        table({
          id: 'settled-pacts',
          caption: 'Each pact with its transaction and its verified receipt.',
          columns: [
            { label: 'Pact' },
            { label: 'Amount', unit: 'USDC', kind: 'figure' },
            { label: 'Chain' },
            { label: 'Transaction', sortable: false },
            { label: 'Receipt', sortable: false },
            { label: 'Settled' },
          ],
          rows: settled.map((pact) => ({
            cells: [
              cell(
                link(pactPath(pact.pact_id), untrustedText(pact.title ?? pact.job_id)),
                pact.job_id,
              ),
              amountCell(pact.amount_usdc),
              pact.chain,
              link(pact.explorer_url, hash(pact.tx_hash)),
              link(receiptPath(pact.receipt_id), hash(pact.receipt_id)),
              timeCell(pact.settled_at),
            ],
          })),
          empty: 'No settlement has been verified yet.',
        }),
      ),
      section(
        'in-flight',
        'In flight',
        table({
          id: 'pacts-in-flight',
          caption: 'A pact in flight does not prove a payment.',
          columns: [
            { label: 'Pact' },
            { label: 'Phase' },
            { label: 'Blocked by', sortable: false },
            { label: 'Next', sortable: false, wide: true },
            { label: 'Updated' },
          ],
          rows: inFlight.map((pact) => ({
            cells: [
              cell(link(pactPath(pact.pact_id), untrustedText(pact.title)), pact.job_id),
              pill(pact.phase_status),
              pact.phase_blocker === null ? 'nothing' : untrustedText(pact.phase_blocker),
              untrustedText(pact.next_action),
              timeCell(pact.updated_at),
            ],
          })),
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
}

function recordedTable(recorded: readonly Recorded[]) {
  return table({
    id: 'recorded-pacts',
    caption:
      'Pacts published by third parties or found in the escrow contract. None has a verified receipt in this ledger; unverified means that no on-chain check has been made.',
    columns: [
      { label: 'Pact' },
      { label: 'Verification' },
      { label: 'Claimed' },
      { label: 'Amount', unit: 'PACT' },
      { label: 'Escrow status' },
      { label: 'Source', sortable: false },
    ],
    rows: recorded.map((pact) => ({
      cells: [
        cell(link(pactPath(pact.pact_id), untrustedText(pact.title)), pact.job_id),
        pill(pact.verification),
        pact.published === undefined ? 'nothing' : pact.published.as.replace('_', ' '),
        String(pact.published?.amount_pact ?? pact.escrow?.amount_pact ?? 'not stated'),
        pact.escrow?.status ?? 'not read',
        sourceOf(pact),
      ],
    })),
    empty: 'No other pacts are recorded.',
  })
}
