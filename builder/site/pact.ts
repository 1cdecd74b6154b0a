/** `/pacts/{id}`: the money, whether its sources agree, how far the pact is, and how to check it. */
import { pathOf } from '../../src/contract/routes.ts'
import { capitalized, counted, grouped } from '../../src/core/number-text.ts'
import { pactEscrow } from '../../src/core/pact/escrow.ts'
import type { EscrowEventKind } from '../../src/core/pact/sources.ts'
import { isoDate } from '../../src/core/time.ts'
import {
  doubt,
  fact,
  facts,
  folded,
  glance,
  links,
  section,
  slip,
  standing,
  steps,
  verdict,
  verifyBox,
} from '../../src/pages/blocks.ts'
import type { Fact } from '../../src/pages/blocks.ts'
import {
  ageText,
  amountText,
  day,
  hash,
  pencil,
  pill,
  sub,
  time,
  timeMs,
  usdc,
} from '../../src/pages/figures.ts'
import {
  code,
  inline,
  link,
  textWithCode,
  untrustedText,
} from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import { walletText } from '../../src/pages/names.ts'
import { pactPath, receiptPath } from '../../src/pages/paths.ts'
import type { World } from '../world/world.ts'
import { phases } from './pact-phases.ts'
import {
  absent,
  agreement,
  compareSources,
  contradictions,
  dayOf,
  escrowSum,
  escrowVerdict,
  pactText,
  said,
  seenOf,
  transaction,
  unsaid,
  whyNoEscrow,
  withHashes,
} from './pact-sources.ts'
import type { AnyPact, Seen, PactStatement } from './pact-sources.ts'
import { pageSource } from './page-source.ts'

type Settled = World['pacts']['settled'][number]
type Recorded = World['pacts']['recorded'][number]

export function sourceOf({ source }: Recorded): Inline {
  return source.url === undefined
    ? untrustedText(source.name)
    : link(source.url, untrustedText(source.name))
}

export const pactPages = pageSource(['community', 'pacts'], function* ({ pacts, community }) {
  const party = (wallet: string | undefined) =>
    wallet === undefined ? pencil('not known') : walletText(wallet, { wallets: community.names })
  for (const pact of [...pacts.settled, ...pacts.inFlight, ...pacts.recorded]) {
    const seen = seenOf(pact, pacts)
    const paid = pact.state === 'settled' ? pact : undefined
    const published = pact.state === 'recorded' ? pact.published : undefined
    const creator = party(paid?.payer ?? seen.escrow?.creator)
    const worker = party(paid?.worker ?? seen.escrow?.recipient ?? published?.worker)
    const state = pact.state.replace('_', ' ')
    const json = pathOf('getPact', { id: pact.pact_id })
    yield {
      path: pactPath(pact.pact_id),
      title: pact.title ?? `Pact ${pact.pact_id}`,
      description: `Pact ${pact.pact_id}, ${state}: ${escrowVerdict(seen)}`,
      crumb: [
        ['/pacts', 'Pacts'],
        [null, capitalized(state)],
        [null, paid?.chain ?? pactEscrow.chain],
      ] as const,
      nav: '/pacts',
      inputs: [pact, seen, creator.md, worker.md],
      body: () => {
        const compared = pact.state === 'recorded' ? claims(pact, seen) : terms(seen, paid)
        return [
          standing([pill(state, 'big'), markOf(pact), code(pact.job_id)]),
          verdict(verdictOf(pact, seen)),
          slip('The agreement', [
            { title: 'Creator', value: creator },
            sumOf(pact, seen),
            { title: 'Worker', value: worker },
          ]),
          contradictions(compared, seen),
          glance(glanceOf(pact, seen), [
            ['#check', 'Check it'],
            ['/docs/disputing', 'Dispute it', 'warn'],
          ]),
          ...progress(pact, seen),
          agreement(compared, seen),
          seen.isManifestHeld ? agreed(pact.pact_id, seen) : null,
          section(
            'check',
            'Check it yourself',
            verifyBox(json),
            pact.state === 'in_flight' && pact.verifier_recipe.length > 0
              ? folded(
                  `How to verify this pact, in ${counted(pact.verifier_recipe.length, 'step')}`,
                  steps(pact.verifier_recipe.map((step) => textWithCode(step, untrustedText))),
                )
              : null,
            links([
              [json, 'JSON'],
              ['/pacts', 'All pacts'],
              ['/pacts/SKILL.md', 'Skill file for agents'],
            ]),
          ),
        ]
      },
    }
  }
})

export function markOf(pact: AnyPact): Inline {
  if (pact.state === 'settled') return inline`paid ${day(pact.settled_at)}`
  if (pact.state === 'in_flight') return pill(pact.phase_status)
  return pact.published === undefined
    ? 'found in the escrow'
    : inline`publication ${pill(pact.verification)}`
}

const verificationTexts: Readonly<Record<Recorded['verification'], string>> = {
  unverified: 'No on-chain check has confirmed it.',
  confirmed: 'The escrow confirms what was published.',
  contradicted: 'The escrow contradicts what was published.',
}

function verdictOf(pact: AnyPact, seen: Seen): Inline {
  const held = escrowVerdict(seen)
  if (pact.state === 'settled') {
    const isAgreed = pact.confirmed_by.length === 3 && seen.disagreements.length === 0
    return inline`${usdc(pact.amount_usdc)} reached the worker on ${pact.chain}: a receipt that was verified on-chain proves it. ${held}${isAgreed ? ' Manifest, escrow and receipt agree.' : ''}`
  }
  const unpaid = 'No payment in USDC is verified.'
  if (pact.state === 'in_flight' || pact.published === undefined) return `${held} ${unpaid}`
  const { as, amount_pact: amount } = pact.published
  const claim = `${as.replace('_', ' ')}${amount === undefined ? '' : ` for ${pactText(amount)}`}`
  return `Published as ${claim}. ${verificationTexts[pact.verification]} ${held} ${unpaid}`
}

function sumOf(pact: AnyPact, seen: Seen): Parameters<typeof slip>[1][number] {
  if (pact.state === 'settled') {
    const paid = amountText(pact.amount_usdc)
    const value = { html: html`<span class="ink" data-is="on chain">${paid}</span>`, md: paid }
    return { title: 'Paid', value, note: `USDC on ${pact.chain}` }
  }
  const sum = escrowSum(seen)
  const claimed = pact.state === 'recorded' ? pact.published?.amount_pact : undefined
  if (seen.escrow !== undefined || claimed === undefined) return sum
  return { ...sum, title: 'Claimed', value: pencil(grouped(String(claimed))) }
}

function glanceOf(pact: AnyPact, seen: Seen): readonly Fact[] {
  const contract = pact.state === 'recorded' ? pact.contract : pactEscrow.address
  const status = seen.escrow?.status ?? pencil(whyNoEscrow(seen) ?? '')
  const escrow: Fact = ['Escrow', inline`${hash(contract)} ${sub(status)}`]
  const deadline = fact('Deadline', seen.escrow?.deadline ?? seen.deadline ?? undefined, day)
  if (pact.state === 'recorded') {
    const { published, confirmed, source } = pact
    return [
      fact('Claimed', published, ({ as }) => pencil(as.replace('_', ' '))),
      fact('Completed', published?.completed_on, pencil),
      ['Source', sourceOf(pact)],
      fact('Copied', source.noted_on, day),
      fact('Note', published?.note, untrustedText),
      escrow,
      deadline,
      ['Confirmed', confirmed.length === 0 ? 'nothing yet' : confirmed.join(', ')],
    ]
  }
  const by = pact.confirmed_by.length === 0 ? 'nothing yet' : pact.confirmed_by.join(', ')
  const confirmed: Fact = ['Confirmed by', by]
  if (pact.state === 'in_flight') {
    const phase = pact.phase_status.replace('_', ' ')
    return [['Phase', phase], escrow, deadline, confirmed, ['Updated', time(pact.updated_at)]]
  }
  const funded = seen.logs.find(({ kind }) => kind === 'created')
  return [
    ['Settled', time(pact.settled_at)],
    ['Transaction', transaction(pact.tx_hash, pact.explorer_url)],
    fact('Time to pay', funded, ({ atMs }) => ageText(timeMs(pact.settled_at) - atMs)),
    escrow,
    deadline,
    confirmed,
  ]
}

function progress(pact: AnyPact, seen: Seen): readonly HtmlAndMarkdown[] {
  const name = 'Paid, verified'
  if (pact.state === 'settled') {
    const about = inline`${time(pact.settled_at)} ${receiptLink(pact)}`
    return [phases(seen, { name, state: 'done', about }, false)]
  }
  const end = { name, state: 'todo', about: pencil('no verified receipt') } as const
  if (pact.state === 'recorded') return seen.logs.length === 0 ? [] : [phases(seen, end, false)]
  const { phase_blocker: blocker, manifest_notes: notes = [] } = pact
  const isBlocked = pact.phase_status === 'blocked'
  return [
    phases(seen, end, isBlocked),
    ...(blocker === null || seen.disagreements.length > 0
      ? []
      : [doubt(isBlocked ? 'warning' : 'info', untrustedText(blocker))]),
    facts([
      ['Next', withHashes(pact.next_action)],
      ...notes.map((note) => ['Note', untrustedText(note)] as const),
    ]),
  ]
}

const receiptLink = (pact: Settled) => link(receiptPath(pact.receipt_id), hash(pact.receipt_id))

/** What the parties agreed, as their manifest, the escrow and the receipt state it. */
function terms(seen: Seen, paid: Settled | undefined) {
  const { escrow, deadline, workHash } = seen
  return compareSources(
    [
      ['Manifest', seen.isManifestHeld ? null : 'none held'],
      ['Escrow contract', whyNoEscrow(seen)],
      ['Receipt', paid === undefined ? 'none verified' : null],
    ],
    [
      ['Creator', absent, said(escrow?.creator, hash), payerSaid(paid)],
      ['Worker', absent, said(escrow?.recipient, hash), said(paid?.worker, hash)],
      ['Hash of the work', said(workHash, hash), said(escrow?.work_hash, hash), absent],
      ['Deadline', said(deadline, day), said(escrow?.deadline, day, dayOf), absent],
    ],
  )
}

/** The escrow itself may pay, instead of the creator. */
function payerSaid(paid: Settled | undefined): PactStatement {
  const isEscrow = paid?.payer.toLowerCase() === pactEscrow.address.toLowerCase()
  return isEscrow ? { key: null, shown: 'the escrow itself' } : said(paid?.payer, hash)
}

/** What others published, and what the escrow states about it. */
function claims({ published }: Recorded, seen: Seen) {
  const { escrow, logs } = seen
  const eventOf = (...kinds: readonly EscrowEventKind[]) =>
    logs.findLast(({ kind }) => kinds.includes(kind))
  const paid = eventOf('approved', 'released')
  const stated = [
    ['Amount', said(published?.amount_pact, pactText), said(escrow?.amount_pact, pactText)],
    ['Worker', said(published?.worker, hash), said(escrow?.recipient, hash)],
    ['Hash of the work', said(published?.work_hash, hash), said(escrow?.work_hash, hash)],
    ['Deadline', said(published?.deadline, day), said(escrow?.deadline, day, dayOf)],
    ['Submission', said(published?.submit_work_tx, hash), said(eventOf('submitted')?.txHash, hash)],
    ['Approval', said(published?.approve_tx, hash), said(paid?.txHash, hash)],
    ['Completed', said(published?.completed_on, day), said(paid && isoDate(paid.atMs), day)],
  ] as const
  return compareSources(
    [
      ['Publication', null],
      ['Escrow contract', whyNoEscrow(seen)],
    ],
    stated.filter(([, claim]) => claim !== unsaid),
  )
}

function agreed(id: string, { files, workHash }: Seen): HtmlAndMarkdown {
  const file = (isPublished: boolean, path: string, name: string) =>
    isPublished ? link(path, name) : pencil('not published')
  return section(
    'agreed',
    'What was agreed',
    facts([
      ['Specification', file(files.spec, pathOf('getPactSpec', { id }), 'spec.json')],
      ['Manifest', file(files.instance, pathOf('getPactInstance', { id }), 'instance.json')],
      [
        'Script that reproduces the hash',
        file(files.script, pathOf('getPactReproduce', { id }), 'reproduce.mjs'),
      ],
      ['Hash of the work', workHash === null ? 'none yet' : code(workHash)],
    ]),
  )
}
