/** `/pacts` and a page for each pact. */
import { pathOf } from '../../src/contract/routes.ts'
import type { World } from '../world.ts'
import { facts, links, para, section, steps, verifyBox } from './blocks.ts'
import { amount, counted, hash, pill, time, usdc } from './figures.ts'
import type { Page } from './page.ts'
import { receiptPath } from './receipt-parts.ts'
import { cell, table } from './table.ts'
import { address, code, foreign, link, say } from './twin.ts'

type Settled = World['pacts']['settled'][number]
type InFlight = World['pacts']['inFlight'][number]

function pactPath(id: string): string {
  return `/pacts/${id}`
}

export function pactsPage({ pacts, rails }: World): Page {
  const { settled, inFlight } = pacts
  return {
    path: '/pacts',
    title: 'Pacts',
    description: `${settled.length} settled and ${inFlight.length} in flight: agreements whose payment can be checked on a chain.`,
    nav: '/pacts',
    alternates: [{ type: 'application/json', href: '/api/v1/pacts', title: 'JSON' }],
    body: [
      para(
        say`A pact is an agreement between a payer and a worker. It is in flight until a receipt for it is verified on its chain, and settled from then on. ${link('/pacts/SKILL.md', 'How an agent checks one')}.`,
        'lede',
      ),
      section(
        'settled',
        'Settled',
        table({
          id: 'settled-pacts',
          caption: 'Each pact once, with its transaction and its verified receipt.',
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
              cell(link(pactPath(pact.pact_id), foreign(pact.title ?? pact.job_id)), pact.job_id),
              cell(amount(pact.amount_usdc), pact.amount_usdc),
              pact.chain,
              link(pact.explorer_url, hash(pact.tx_hash)),
              link(receiptPath(pact.receipt_id), hash(pact.receipt_id)),
              cell(time(Date.parse(pact.settled_at)), Date.parse(pact.settled_at)),
            ],
          })),
          empty: 'The ledger has verified no settlement yet.',
        }),
      ),
      section(
        'in-flight',
        'In flight',
        table({
          id: 'pacts-in-flight',
          caption: 'A pact in flight proves no payment.',
          columns: [
            { label: 'Pact' },
            { label: 'Phase' },
            { label: 'Blocked by', sortable: false },
            { label: 'Next', sortable: false, wide: true },
            { label: 'Updated' },
          ],
          rows: inFlight.map((pact) => ({
            cells: [
              cell(link(pactPath(pact.pact_id), foreign(pact.title)), pact.job_id),
              pill(pact.phase_status),
              pact.phase_blocker === null ? 'nothing' : foreign(pact.phase_blocker),
              foreign(pact.next_action),
              cell(time(Date.parse(pact.updated_at)), Date.parse(pact.updated_at)),
            ],
          })),
          empty: 'No pact is in flight.',
        }),
      ),
      verifyBox('/api/v1/pacts', '/api/v1/pacts'),
      links([
        ['/api/v1/pacts', 'As JSON'],
        ['/pacts/SKILL.md', 'Skill file for agents'],
        rails.some(({ authored }) => authored.rail === 'pact')
          ? ['/rails/pact', 'The PACT rail']
          : null,
      ]),
    ],
  }
}

export function* pactPages({ pacts, community }: World): Generator<Page> {
  const receipts = new Set(community.receipts.map((receipt) => receipt.receipt_id))
  for (const pact of pacts.settled) yield settledPage(pact, receipts.has(pact.receipt_id))
  for (const pact of pacts.inFlight) yield inFlightPage(pact)
}

function settledPage(pact: Settled, hasReceipt: boolean): Page {
  const receipt = code(pact.receipt_id)
  return {
    path: pactPath(pact.pact_id),
    title: pact.title ?? `Pact ${pact.pact_id}`,
    description: `${usdc(pact.amount_usdc).md} settled on ${pact.chain}.`,
    nav: '/pacts',
    body: [
      para(say`${pill('settled')} ${usdc(pact.amount_usdc)} on ${pact.chain}`, 'lede'),
      facts([
        ['Pact', code(pact.job_id)],
        ['Settled', time(Date.parse(pact.settled_at))],
        ['Payer', code(pact.payer)],
        ['Worker', code(pact.worker)],
        ['Transaction', link(pact.explorer_url, code(pact.tx_hash))],
        ['Block', String(pact.block_number)],
        ['Verified receipt', hasReceipt ? link(receiptPath(pact.receipt_id), receipt) : receipt],
      ]),
      checkSection(pact.pact_id),
    ],
  }
}

function inFlightPage(pact: InFlight): Page {
  return {
    path: pactPath(pact.pact_id),
    title: pact.title,
    description: `Pact ${pact.pact_id}, in flight: ${pact.phase_status}.`,
    nav: '/pacts',
    body: [
      para(
        say`${pill('in flight')} ${pill(pact.phase_status)} A pact in flight proves no payment.`,
        'lede',
      ),
      facts([
        ['Pact', code(pact.job_id)],
        ['Blocked by', pact.phase_blocker === null ? 'nothing' : foreign(pact.phase_blocker)],
        ['Next', foreign(pact.next_action)],
        ['Specification', address(pact.spec_uri)],
        ['Manifest', address(pact.instance_uri)],
        ['Script that reproduces the hash', address(pact.reproduce_uri)],
        ['Hash of the work', pact.work_hash === null ? 'none yet' : code(pact.work_hash)],
        ['Updated', time(Date.parse(pact.updated_at))],
      ]),
      pact.verifier_recipe.length === 0
        ? null
        : section(
            'recipe',
            `How to verify it, in ${counted(pact.verifier_recipe.length, 'step')}`,
            steps(pact.verifier_recipe.map(foreign)),
          ),
      checkSection(pact.pact_id),
    ],
  }
}

function checkSection(id: string) {
  const json = pathOf('getPact', { id })
  return section(
    'check',
    'Check it',
    verifyBox(json, json),
    links([
      [json, 'As JSON'],
      ['/pacts', 'All pacts'],
      ['/pacts/SKILL.md', 'Skill file for agents'],
    ]),
  )
}
