/** How far a pact is: what the escrow has logged, and what is still to come. */
import { explorerUrl } from '../../src/core/chains.ts'
import { grouped } from '../../src/core/number-text.ts'
import { pactEscrow } from '../../src/core/pact/escrow.ts'
import type { EscrowEvent, EscrowEventKind } from '../../src/core/pact/sources.ts'
import { pencil, sub, time } from '../../src/pages/figures.ts'
import { inline, renderInline } from '../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown, Inline } from '../../src/pages/html-and-markdown.ts'
import { html } from '../../src/pages/html.ts'
import { transaction } from './pact-sources.ts'
import type { Seen } from './pact-sources.ts'

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

const names: Readonly<Record<EscrowEventKind, string>> = {
  created: 'Funded',
  submitted: 'Work submitted',
  approved: 'Approved',
  released: 'Released',
  refunded: 'Refunded',
  disputed: 'Disputed',
  ruled: 'Arbitrator ruled',
  finalized: 'Arbitration ended',
}
const usual = [
  ['created', 'no deposit seen'],
  ['submitted', 'no work seen'],
  ['approved', 'no approval seen'],
] as const

/** The logs in on-chain order, then what is missing. `end` is the last phase. */
export function phases({ logs, unread }: Seen, end: Phase, isBlocked: boolean): HtmlAndMarkdown {
  const has = (...kinds: readonly EscrowEventKind[]) =>
    logs.some(({ kind }) => kinds.includes(kind))
  const isDecided = has('approved', 'released', 'refunded', 'disputed')
  const missing = usual.flatMap(([kind, none]): Phase[] =>
    isDecided || has(kind)
      ? []
      : [{ name: names[kind], state: 'todo', about: pencil(unread ?? none) }],
  )
  const [next, ...later] = [...missing, end]
  const isNext = next?.state === 'todo' && unread === null && !has('refunded')
  const waiting = isNext ? [{ ...next, state: isBlocked ? 'bad' : 'now' } as const] : [next ?? end]
  const shown = [...logs.map(loggedPhase), ...waiting, ...later].map((phase) => {
    return { ...phase, about: renderInline(phase.about) }
  })
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

function loggedPhase({ kind, atMs, txHash, block }: EscrowEvent): Phase {
  const shown = transaction(txHash, explorerUrl(pactEscrow.chain, txHash))
  return {
    name: names[kind],
    state: kind === 'refunded' || kind === 'disputed' ? 'bad' : 'done',
    about: inline`${time(atMs)} ${shown} ${sub(`block ${grouped(String(block))}`)}`,
  }
}
