/** `/pacts/{id}`: how far a pact is, whether its sources agree, and how to check it. */
import { pathOf } from '../../src/contract/routes.ts'
import { counted } from '../../src/core/number-text.ts'
import { pactEscrow } from '../../src/core/pact/escrow.ts'
import type { EscrowEvent, EscrowEventKind } from '../../src/core/pact/sources.ts'
import { isoDate } from '../../src/core/time.ts'
import {
  doubt,
  fact,
  facts,
  glance,
  links,
  section,
  standing,
  steps,
  verdict,
  verifyBox,
} from '../../src/pages/blocks.ts'
import { day, hash, pencil, pill, time, usdc } from '../../src/pages/figures.ts'
import {
  address,
  code,
  inline,
  link,
  textWithCode,
  untrustedText,
} from '../../src/pages/html-and-markdown.ts'
import type { Inline } from '../../src/pages/html-and-markdown.ts'
import type { SitePage } from '../../src/pages/page.ts'
import { pactPath, receiptPath } from '../../src/pages/paths.ts'
import type { World } from '../world/world.ts'
import { phases, timeline } from './pact-phases.ts'
import {
  absent,
  agreement,
  dayOf,
  escrowAbout,
  escrowColumn,
  pactText,
  said,
  sourcesSection,
  unsaid,
} from './pact-sources.ts'
import type { Seen, PactStatement } from './pact-sources.ts'
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
  const manifests = new Map(pacts.manifests.map((held) => [String(held.pactId), held.checked]))
  const seen = ({ pact_id: id }: Settled | InFlight | Recorded): Seen => {
    const manifest = manifests.get(id)
    return {
      logs: pacts.events.get(id) ?? [],
      escrow: pacts.escrow.get(id),
      disagreements: pacts.disagreements.get(id) ?? [],
      deadline: manifest?.spec?.deadline ?? null,
      workHash: manifest?.workHash ?? null,
      isManifestHeld: manifest !== undefined,
    }
  }
  for (const pact of pacts.settled) {
    yield settledPage(pact, receipts.has(pact.receipt_id), seen(pact))
  }
  for (const pact of pacts.inFlight) yield inFlightPage(pact, seen(pact))
  for (const pact of pacts.recorded) yield recordedPage(pact, seen(pact))
})

const witnessTexts = {
  receipt: 'a receipt verified on-chain',
  escrow: 'the escrow contract',
  manifest: 'manifests held by this ledger',
} as const

function witnesses(names: Settled['confirmed_by']): Inline {
  return names.length === 0 ? 'nothing yet' : names.map((name) => witnessTexts[name]).join(', ')
}

function recordedPage(pact: Recorded, seen: Seen): SitePage {
  const { published } = pact
  const { escrow, logs } = seen
  return {
    path: pactPath(pact.pact_id),
    title: pact.title,
    description: `Pact ${pact.pact_id}, recorded and ${pact.verification}: no verified receipt.`,
    crumb: crumb('Recorded', pact.chain),
    nav: '/pacts',
    inputs: [pact, seen],
    body: () => [
      standing([pill('recorded', 'big'), pill(pact.verification), code(pact.job_id)]),
      verdict(`${verificationTexts[pact.verification]} It does not prove a payment.`),
      glance(
        [
          ['Claimed', published?.as.replace('_', ' ') ?? 'nothing'],
          fact('Amount', published?.amount_pact, (amount) => pencil(pactText(amount))),
          fact('Completed', published?.completed_on, pencil),
          ['Escrow status', escrow?.status ?? 'not read'],
          ['Confirmed', pact.confirmed.length === 0 ? 'nothing yet' : pact.confirmed.join(', ')],
        ],
        [['/docs/disputing', 'Dispute it', 'warn']],
      ),
      agreement(
        [['Publication', published === undefined ? 'none' : null], escrowColumn(seen)],
        [
          ['Amount', said(published?.amount_pact, pactText), said(escrow?.amount_pact, pactText)],
          ['Worker', said(published?.worker, hash), said(escrow?.recipient, hash)],
          ['Hash of the work', said(published?.work_hash, hash), said(escrow?.work_hash, hash)],
          ['Deadline', said(published?.deadline, day), said(escrow?.deadline, day, dayOf)],
          [
            'Submission',
            said(published?.submit_work_tx, hash),
            said(txOf(logs, 'submitted'), hash),
          ],
          [
            'Approval',
            said(published?.approve_tx, hash),
            said(txOf(logs, 'approved', 'released'), hash),
          ],
          [
            'Completed',
            said(published?.completed_on, day),
            said(dayOfLog(logs, 'approved', 'released'), day),
          ],
        ],
        seen,
      ),
      sourcesSection([
        [
          'Publication',
          pact.source.kind === 'escrow'
            ? 'none'
            : inline`${sourceOf(pact)}${pact.source.noted_on === undefined ? '' : `, copied on ${pact.source.noted_on}`}. Its claims count for nothing until a node confirms them.`,
        ],
        fact('Note', published?.note, untrustedText),
        ['Escrow contract', escrowAbout(seen)],
        pact.contract.toLowerCase() === pactEscrow.address.toLowerCase()
          ? null
          : [
              'Contract of the publication',
              inline`${code(pact.contract)}, which this ledger does not read`,
            ],
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

const txOf = (logs: Logs, ...kinds: readonly EscrowEventKind[]) =>
  logs.findLast(({ kind }) => kinds.includes(kind))?.txHash

function dayOfLog(logs: Logs, ...kinds: readonly EscrowEventKind[]): string | undefined {
  const event = logs.findLast(({ kind }) => kinds.includes(kind))
  return event && isoDate(event.atMs)
}

function crumb(state: string, chain: string): NonNullable<SitePage['crumb']> {
  return [
    ['/pacts', 'Pacts'],
    [null, state],
    [null, chain],
  ]
}

function settledPage(pact: Settled, hasReceipt: boolean, seen: Seen): SitePage {
  const { escrow, logs } = seen
  const receipt = hash(pact.receipt_id)
  const receiptLink = hasReceipt ? link(receiptPath(pact.receipt_id), receipt) : receipt
  const transaction = link(pact.explorer_url, hash(pact.tx_hash))
  const agrees =
    seen.disagreements.length === 0 ? '' : ' Other statements about it contradict each other.'
  return {
    path: pactPath(pact.pact_id),
    title: pact.title ?? `Pact ${pact.pact_id}`,
    description: `${usdc(pact.amount_usdc).md} settled on ${pact.chain}.`,
    crumb: crumb('Settled', pact.chain),
    nav: '/pacts',
    inputs: [pact, hasReceipt, seen],
    body: () => [
      standing([pill('settled', 'big'), inline`paid ${day(pact.settled_at)}`, code(pact.job_id)]),
      verdict(
        inline`${usdc(pact.amount_usdc)} reached the worker on ${pact.chain}. A receipt that was verified on-chain proves it.${agrees}`,
      ),
      glance(
        [
          ['Paid', usdc(pact.amount_usdc)],
          ['Settled', time(pact.settled_at)],
          ['Payer', hash(pact.payer)],
          ['Worker', hash(pact.worker)],
          ['Based on', witnesses(pact.confirmed_by)],
        ],
        [
          ['#check', 'Check it'],
          ['/docs/disputing', 'Dispute it', 'warn'],
        ],
      ),
      phases(
        logs,
        {
          name: 'Paid, verified',
          state: 'done',
          about: inline`${time(pact.settled_at)} ${receiptLink}`,
        },
        false,
      ),
      agreement(
        [
          ['Manifest', seen.isManifestHeld ? null : 'none held'],
          escrowColumn(seen),
          ['Receipt', null],
        ],
        [
          ['Amount locked', absent, said(escrow?.amount_pact, pactText), absent],
          ['Amount paid', absent, absent, said(pact.amount_usdc, usdc)],
          ['Payer', absent, said(escrow?.creator, hash), payerSaid(pact)],
          ['Worker', absent, said(escrow?.recipient, hash), said(pact.worker, hash)],
          ...manifestRows(seen),
        ],
        seen,
      ),
      sourcesSection([
        [
          'Manifest',
          seen.isManifestHeld
            ? 'What the parties agreed, held by this ledger.'
            : pencil('none held'),
        ],
        ['Escrow contract', escrowAbout(seen)],
        [
          'Receipt',
          inline`${receiptLink}: the payment in USDC, read from transaction ${transaction} in block ${String(pact.block_number)}.`,
        ],
      ]),
      timeline(logs),
      checkSection(pathOf('getPact', { id: pact.pact_id })),
    ],
  }
}

/** The escrow itself may pay, instead of the creator. */
function payerSaid({ payer }: Settled): PactStatement {
  const isEscrow = payer.toLowerCase() === pactEscrow.address.toLowerCase()
  return isEscrow ? { key: null, shown: 'the escrow itself' } : said(payer, hash)
}

function manifestRows({ deadline, workHash, escrow }: Seen) {
  return [
    ['Hash of the work', said(workHash, hash), said(escrow?.work_hash, hash), absent],
    ['Deadline', said(deadline, day), said(escrow?.deadline, day, dayOf), absent],
  ] as const
}

function inFlightPage(pact: InFlight, seen: Seen): SitePage {
  const { escrow, logs } = seen
  const isBlocked = pact.phase_status === 'blocked'
  return {
    path: pactPath(pact.pact_id),
    title: pact.title,
    description: `Pact ${pact.pact_id}, in flight: ${pact.phase_status}.`,
    crumb: crumb('In flight', pactEscrow.chain),
    nav: '/pacts',
    inputs: [pact, seen],
    body: () => [
      standing([pill('in flight', 'big'), pill(pact.phase_status), code(pact.job_id)]),
      verdict('No payment of this pact is verified. A pact in flight does not prove a payment.'),
      glance(
        [
          ['Phase', pact.phase_status.replace('_', ' ')],
          fact('Locked', escrow?.amount_pact, pactText),
          fact('Worker', escrow?.recipient, hash),
          fact('Deadline', escrow?.deadline ?? seen.deadline ?? undefined, day),
          ['Based on', witnesses(pact.confirmed_by)],
          ['Updated', time(pact.updated_at)],
        ],
        [
          ['#check', 'Check it'],
          ['/docs/disputing', 'Dispute it', 'warn'],
        ],
      ),
      phases(
        logs,
        { name: 'Paid, verified', state: 'todo', about: pencil('no verified receipt') },
        isBlocked,
      ),
      pact.phase_blocker === null ? null : doubt('warning', untrustedText(pact.phase_blocker)),
      facts([
        ['Next', untrustedText(pact.next_action)],
        ...(pact.manifest_notes ?? []).map((note) => ['Note', untrustedText(note)] as const),
      ]),
      agreement(
        [['Manifest', null], escrowColumn(seen), ['Receipt', 'none verified']],
        [
          ['Amount locked', absent, said(escrow?.amount_pact, pactText), absent],
          ['Worker', absent, said(escrow?.recipient, hash), unsaid],
          ...manifestRows({ ...seen, workHash: pact.work_hash }),
        ],
        seen,
      ),
      sourcesSection([
        [
          'Manifest',
          inline`What the parties agreed: ${address(pact.instance_uri)}, with the fields that ${address(pact.spec_uri)} lists.`,
        ],
        ['Hash of the work', pact.work_hash === null ? 'none yet' : code(pact.work_hash)],
        ['Script that reproduces the hash', address(pact.reproduce_uri)],
        ['Escrow contract', escrowAbout(seen)],
        ['Receipt', pencil('none verified')],
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
