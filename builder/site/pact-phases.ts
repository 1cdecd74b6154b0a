/** How far a pact is: its phases, and the logs of its escrow. */
import { explorerUrl } from '../../src/core/chains.ts'
import { pactEscrow } from '../../src/core/pact/escrow.ts'
import type { EscrowEvent, EscrowEventKind } from '../../src/core/pact/sources.ts'
import { section } from '../../src/pages/blocks.ts'
import { hash, pencil, time } from '../../src/pages/figures.ts'
import { inline, link, renderInline } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import { column, figureColumn, table } from '../../src/pages/table.ts'

type Logs = readonly EscrowEvent[]

type PhaseState = 'bad' | 'done' | 'now' | 'todo'

interface Phase {
  readonly state: PhaseState
  readonly name: string
  readonly about: Inline
}

const phaseWords: Readonly<Record<PhaseState, string>> = {
  done: 'done',
  now: 'now',
  todo: 'to do',
  bad: 'blocked',
}

/** The phases of a pact in order. `end` is the last phase with its state. */
export function phases(logs: Logs, end: Phase, isBlocked: boolean): HtmlAndMarkdown {
  const logged = (name: string, none: string, ...kinds: readonly EscrowEventKind[]) => {
    const event = logs.findLast(({ kind }) => kinds.includes(kind))
    return { name, none, event }
  }
  const isEnded = logs.some(({ kind }) => kind === 'refunded' || kind === 'disputed')
  const listed = [
    logged('Funded', 'no deposit seen', 'created'),
    logged('Work submitted', 'no work seen', 'submitted'),
    isEnded
      ? logged('Disputed or refunded', '', 'disputed', 'refunded', 'ruled', 'finalized')
      : logged('Approved', 'no approval seen', 'approved', 'released'),
  ]
  const next = end.state === 'done' ? -1 : listed.findIndex(({ event }) => event === undefined)
  const shown = [
    ...listed.map(({ name, none, event }, at): Phase => {
      if (event === undefined) {
        const state = at === next ? (isBlocked ? 'bad' : 'now') : 'todo'
        return { name, state, about: pencil(none) }
      }
      const tx = link(explorerUrl(pactEscrow.chain, event.txHash) ?? '', hash(event.txHash))
      const state = isEnded && at === 2 ? 'bad' : 'done'
      return { name, state, about: inline`${time(event.atMs)} ${tx}` }
    }),
    end.state === 'todo' && next === -1
      ? ({ ...end, state: isBlocked ? 'bad' : 'now' } as const)
      : end,
  ].map((phase) => ({ ...phase, about: renderInline(phase.about) }))
  return {
    html: html`<ol class="phases" aria-label="Phases of the pact">
      ${shown.map(
        ({ state, name, about }) =>
          html`<li class="${state}">
            <b><span class="dot" aria-hidden="true"></span>${name}</b>
            <span class="vh">${phaseWords[state]}</span> ${about.html}
          </li>`,
      )}
    </ol>`,
    md: shown
      .map(({ state, name, about }, at) => `${at + 1}. ${name}, ${phaseWords[state]}: ${about.md}`)
      .join('\n'),
  }
}

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

export function timeline(logs: Logs): HtmlAndMarkdown {
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
