/** The phase of a pact in flight. Every sentence is published. */
import { dayMs, isoTime } from '../time.ts'
import { paidRecipient, submittedHash } from './disagreements.ts'
import type { Disagreement } from './disagreements.ts'
import type { EscrowPact } from './escrow.ts'
import type { EscrowEvent, EscrowReading, PactManifests, PactOnChain } from './sources.ts'

export const phaseStatuses = [
  'drafted',
  'funded',
  'in_progress',
  'submitted',
  'verifying',
  'blocked',
] as const
export type PhaseStatus = (typeof phaseStatuses)[number]

export interface Phase {
  readonly status: PhaseStatus
  readonly blocker: string | null
  readonly nextAction: string
  readonly sinceMs: number
}

export interface PhaseInput {
  readonly nowMs: number
  readonly manifests: PactManifests
  readonly onChain: PactOnChain | null
  readonly reading: EscrowReading | null
  readonly disagreements: readonly Disagreement[]
}

export function phaseOf(input: PhaseInput): Phase {
  const phase = escrowPhase(input)
  if (input.disagreements.length === 0) return phase
  const reasons = input.disagreements.map(({ between, text }) => `${between}: ${text}`).join('; ')
  const otherwise =
    phase.blocker === null
      ? `According to the escrow, the pact is ${phase.status}.`
      : `In addition: ${phase.blocker}`
  return {
    status: 'blocked',
    blocker: cut(`The sources disagree (${reasons}). ${otherwise}`),
    nextAction: cut(
      `The parties must make manifest, escrow and receipts agree; the honesty flag then closes. ${phase.nextAction}`,
    ),
    sinceMs: phase.sinceMs,
  }
}

const maxTextChars = 500

function cut(text: string): string {
  return text.length <= maxTextChars ? text : `${text.slice(0, maxTextChars - 1)}…`
}

// oxlint-disable-next-line consistent-return -- the compiler sees that the switch is exhaustive
function escrowPhase(input: PhaseInput): Phase {
  const { nowMs, manifests, onChain, reading } = input
  const state = onChain?.state ?? null
  const sinceMs = Math.max(
    manifests.updatedAtMs,
    ...(onChain?.events ?? []).map(({ atMs }) => atMs),
  )
  if (onChain === null || state === null) return unseenPhase(input, sinceMs)
  const last = onChain.events.at(-1)
  if (paidRecipient(onChain)) {
    const nextAction = `The escrow has paid out its PACT, but a receipt of this ledger is for a payment in USDC. The worker submits a receipt with job_id pact-${manifests.pactId} and the transaction in which the creator or the escrow paid USDC to the recipient; the next hourly check then settles the pact.`
    return { status: 'verifying', blocker: null, nextAction, sinceMs }
  }
  switch (state.status) {
    case 'Active':
      return activePhase(state, { nowMs, sinceMs, isFinal: isFinal(onChain, 'created', reading) })
    case 'WorkSubmitted':
      return submittedPhase(onChain, state, sinceMs)
    case 'Disputed':
      return blocked(
        `The creator disputed the work${last === undefined ? '' : ` at ${isoTime(last.atMs)}`}.`,
        `The arbitrator ${state.arbitrator} rules, or the arbitration window ends.`,
        sinceMs,
      )
    case 'Refunded':
      return blocked(
        'The escrow refunded the creator; the worker was not paid.',
        'None: this pact can no longer be settled. A new agreement needs a new pact.',
        sinceMs,
      )
    case 'Completed':
    case 'Arbitrated':
      return blocked(
        last?.favorRecipient === false
          ? 'The arbitrator ruled for the creator; the worker was not paid.'
          : 'The arbitration ended without a ruling; the logs of the escrow do not show whom it paid.',
        'None in the escrow. If the worker was paid, a receipt with the transaction can prove it.',
        sinceMs,
      )
  }
}

function blocked(blocker: string, nextAction: string, sinceMs: number): Phase {
  return { status: 'blocked', blocker, nextAction, sinceMs }
}

function unseenPhase({ nowMs, manifests, reading }: PhaseInput, sinceMs: number): Phase {
  const seen =
    reading === null
      ? 'The ledger has not read the escrow yet.'
      : reading.caughtUp
        ? null
        : `The ledger has read the escrow only up to block ${reading.toBlock} and is still reading.`
  const day = manifests.checked.spec?.deadline ?? null
  const deadlineMs = day === null ? null : Date.parse(day) + dayMs
  if (deadlineMs !== null && nowMs >= deadlineMs) {
    return blocked(
      `deadline_passed: the deadline ${day} has passed, and no node has confirmed this pact. ${seen ?? 'The escrow has no such pact.'}`,
      'A node of the escrow’s chain confirms its outcome, or the parties agree on a new pact.',
      Math.max(sinceMs, deadlineMs),
    )
  }
  const nextAction =
    seen === null
      ? 'The creator deposits the funds in the escrow with create().'
      : 'The ledger reads the escrow; whether it holds a deposit is not known yet.'
  return { status: 'drafted', blocker: seen, nextAction, sinceMs }
}

function activePhase(
  { deadlineMs }: EscrowPact,
  at: { readonly nowMs: number; readonly sinceMs: number; readonly isFinal: boolean },
): Phase {
  const deadline = isoTime(deadlineMs)
  if (at.nowMs > deadlineMs) {
    return blocked(
      `deadline_passed: the deadline ${deadline} has passed and no work was submitted.`,
      'The creator may withdraw the funds with reclaim().',
      Math.max(at.sinceMs, deadlineMs),
    )
  }
  const nextAction = `The worker does the work and submits its hash with submitWork() before ${deadline}.`
  const { sinceMs } = at
  if (at.isFinal) return { status: 'in_progress', blocker: null, nextAction, sinceMs }
  const untilFinal = `The block with the deposit must become final. ${nextAction}`
  return { status: 'funded', blocker: null, nextAction: untilFinal, sinceMs }
}

function submittedPhase(onChain: PactOnChain, state: EscrowPact, sinceMs: number): Phase {
  const fromMs = state.workSubmittedAtMs
  const windowEnds = fromMs === null ? null : isoTime(fromMs + state.disputeWindowMs)
  const release = windowEnds === null ? '' : `; after ${windowEnds} anyone may call release()`
  const nextAction = `Work with the hash ${submittedHash(onChain.events) ?? state.workHash ?? 'unknown'} was submitted. The creator approves or disputes it${release}.`
  return { status: 'submitted', blocker: null, nextAction, sinceMs }
}

function isFinal(
  { events }: PactOnChain,
  kind: EscrowEvent['kind'],
  reading: EscrowReading | null,
): boolean {
  const event = events.findLast((one) => one.kind === kind)
  return event !== undefined && reading !== null && event.block <= reading.finalBlock
}
