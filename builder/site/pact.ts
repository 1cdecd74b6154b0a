/** `/pacts/{id}`: the page of each pact. */
import { pathOf } from '../../src/contract/routes.ts'
import { explorerUrl } from '../../src/core/chains.ts'
import { counted } from '../../src/core/number-text.ts'
import { pactEscrow } from '../../src/core/pact/escrow.ts'
import type { EscrowEvent, EscrowEventKind } from '../../src/core/pact/sources.ts'
import {
  fact,
  facts,
  introduction,
  links,
  section,
  steps,
  verifyBox,
} from '../../src/pages/blocks.ts'
import { hash, pill, time, usdc } from '../../src/pages/figures.ts'
import {
  address,
  code,
  untrustedText,
  link,
  inline,
  textWithCode,
} from '../../src/pages/html-and-markdown.ts'
import type { Inline, HtmlAndMarkdown } from '../../src/pages/html-and-markdown.ts'
import type { SitePage } from '../../src/pages/page.ts'
import { pactPath, receiptPath } from '../../src/pages/paths.ts'
import { column, figureColumn, table } from '../../src/pages/table.ts'
import type { World } from '../world/world.ts'
import { pageSource } from './page-source.ts'

type Settled = World['pacts']['settled'][number]
type InFlight = World['pacts']['inFlight'][number]
type Recorded = World['pacts']['recorded'][number]
type Logs = readonly EscrowEvent[]

export function sourceOf({ source }: Recorded): Inline {
  return source.url === undefined
    ? untrustedText(source.name)
    : link(source.url, untrustedText(source.name))
}

export const pactPages = pageSource(['community', 'pacts'], function* ({ pacts, community }) {
  const receipts = new Set(community.receipts.map((receipt) => receipt.receipt_id))
  const logsOf = ({ pact_id: id }: Settled | InFlight | Recorded): Logs =>
    pacts.events.get(id) ?? []
  for (const pact of pacts.settled) {
    yield settledPage(pact, receipts.has(pact.receipt_id), logsOf(pact))
  }
  for (const pact of pacts.inFlight) yield inFlightPage(pact, logsOf(pact))
  for (const pact of pacts.recorded) yield recordedPage(pact, logsOf(pact))
})

const eventTexts: Readonly<Record<EscrowEventKind, string>> = {
  created: 'created and funded',
  submitted: 'work submitted',
  approved: 'approved and paid',
  released: 'released and paid',
  refunded: 'refunded to the creator',
  disputed: 'disputed by the creator',
  ruled: 'decided by the arbitrator',
  finalized: 'arbitration ended without a ruling',
}

function timeline(logs: Logs): HtmlAndMarkdown {
  return section(
    'timeline',
    'Escrow history',
    table(logs, {
      id: 'pact-timeline',
      caption: 'Logs of the escrow contract in on-chain order.',
      sortable: false,
      columns: [
        column('Event', ({ kind }) => eventTexts[kind]),
        column('Time', ({ atMs }) => time(atMs)),
        figureColumn('Block', null, ({ block }) => String(block)),
        column('Transaction', ({ txHash }) =>
          link(explorerUrl(pactEscrow.chain, txHash) ?? '', hash(txHash)),
        ),
      ],
      empty: 'No on-chain log found for this pact.',
    }),
  )
}

const witnessTexts = {
  receipt: 'a receipt verified on-chain',
  escrow: 'the escrow contract',
  manifest: 'manifests held by this ledger',
} as const

function witnesses(names: Settled['confirmed_by']): Inline {
  return names.length === 0 ? 'nothing yet' : names.map((name) => witnessTexts[name]).join(', ')
}

function recordedPage(pact: Recorded, logs: Logs): SitePage {
  const { published, escrow } = pact
  return {
    path: pactPath(pact.pact_id),
    title: pact.title,
    description: `Pact ${pact.pact_id}, recorded and ${pact.verification}: no verified receipt.`,
    nav: '/pacts',
    inputs: [pact, logs],
    body: () => [
      introduction(
        inline`${pill('recorded')} ${pill(pact.verification)} ${verificationTexts[pact.verification]} It does not prove a payment.`,
      ),
      facts([
        ['Pact', code(pact.job_id)],
        ['Source', sourceOf(pact)],
        fact('Copied on', pact.source.noted_on, String),
        ['Contract', code(pact.contract)],
        fact('Claimed', published?.as, (status) => status.replace('_', ' ')),
        fact('Claimed amount', published?.amount_pact, (amount) => `${amount} PACT`),
        fact('Claimed completed', published?.completed_on, String),
        fact('Claimed deadline', published?.deadline, String),
        fact('Worker', published?.worker ?? escrow?.recipient, code),
        fact('Work hash', published?.work_hash ?? escrow?.work_hash ?? undefined, code),
        fact('Claimed submission', published?.submit_work_tx, code),
        fact('Claimed payment', published?.approve_tx, code),
        ['Escrow status', escrow === undefined ? 'not read' : escrow.status],
        [
          'Confirmed on-chain',
          pact.confirmed.length === 0 ? 'nothing yet' : pact.confirmed.join(', '),
        ],
        pact.contradictions.length === 0
          ? null
          : ['Contradicted on-chain', untrustedText(pact.contradictions.join('; '))],
        fact('Note', published?.note, untrustedText),
      ]),
      timeline(logs),
      checkSection(pathOf('listPacts'), 'JSON, under recorded'),
    ],
  }
}

const verificationTexts: Readonly<Record<Recorded['verification'], string>> = {
  unverified: 'Third parties published this pact. No on-chain check has confirmed it.',
  confirmed: 'The escrow data shown here was confirmed on-chain.',
  contradicted: 'On-chain data contradicts the published claims.',
}

function settledPage(pact: Settled, hasReceipt: boolean, logs: Logs): SitePage {
  const receipt = code(pact.receipt_id)
  return {
    path: pactPath(pact.pact_id),
    title: pact.title ?? `Pact ${pact.pact_id}`,
    description: `${usdc(pact.amount_usdc).md} settled on ${pact.chain}.`,
    nav: '/pacts',
    inputs: [pact, hasReceipt, logs],
    body: () => [
      introduction(inline`${pill('settled')} ${usdc(pact.amount_usdc)} on ${pact.chain}`),
      facts([
        ['Pact', code(pact.job_id)],
        ['Settled', time(pact.settled_at)],
        ['Payer', code(pact.payer)],
        ['Worker', code(pact.worker)],
        ['Transaction', link(pact.explorer_url, code(pact.tx_hash))],
        ['Block', String(pact.block_number)],
        ['Verified receipt', hasReceipt ? link(receiptPath(pact.receipt_id), receipt) : receipt],
        ['Based on', witnesses(pact.confirmed_by)],
      ]),
      timeline(logs),
      checkSection(pathOf('getPact', { id: pact.pact_id })),
    ],
  }
}

function inFlightPage(pact: InFlight, logs: Logs): SitePage {
  return {
    path: pactPath(pact.pact_id),
    title: pact.title,
    description: `Pact ${pact.pact_id}, in flight: ${pact.phase_status}.`,
    nav: '/pacts',
    inputs: [pact, logs],
    body: () => [
      introduction(
        inline`${pill('in flight')} ${pill(pact.phase_status)} A pact in flight does not prove a payment.`,
      ),
      facts([
        ['Pact', code(pact.job_id)],
        ['Blocked by', pact.phase_blocker === null ? 'nothing' : untrustedText(pact.phase_blocker)],
        ['Next', untrustedText(pact.next_action)],
        ['Specification', address(pact.spec_uri)],
        ['Manifest', address(pact.instance_uri)],
        ['Script that reproduces the hash', address(pact.reproduce_uri)],
        ['Hash of the work', pact.work_hash === null ? 'none yet' : code(pact.work_hash)],
        ...(pact.manifest_notes ?? []).map((note) => ['Note', untrustedText(note)] as const),
        ['Based on', witnesses(pact.confirmed_by)],
        ['Updated', time(pact.updated_at)],
      ]),
      timeline(logs),
      pact.verifier_recipe.length === 0
        ? null
        : section(
            'recipe',
            `How to verify this pact, in ${counted(pact.verifier_recipe.length, 'step')}`,
            steps(pact.verifier_recipe.map((step) => textWithCode(step, untrustedText))),
          ),
      checkSection(pathOf('getPact', { id: pact.pact_id })),
    ],
  }
}

function checkSection(json: string, label = 'JSON') {
  return section(
    'check',
    'Check it',
    verifyBox(json),
    links([
      [json, label],
      ['/pacts', 'All pacts'],
      ['/pacts/SKILL.md', 'Skill file for agents'],
    ]),
  )
}
