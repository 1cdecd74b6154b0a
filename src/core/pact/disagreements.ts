/** Where two sources of one pact say different things. Each is a sentence, and the evidence that stands behind it. */
import { isoDate } from '../time.ts'
import { pactEscrow } from './escrow.ts'
import type { EscrowPact, EscrowStatus } from './escrow.ts'
import type {
  EscrowEvent,
  EscrowReading,
  PactManifests,
  PactOnChain,
  PactReceipt,
} from './sources.ts'

export interface Disagreement {
  /** The two that disagree, such as `manifest and escrow`. */
  readonly between: string
  readonly text: string
  /** By a receipt that no party of the pact gave: it is told, and holds nothing up. */
  readonly byStranger?: true
}

/** The statuses that `getPact` may have after the last log of a pact. */
const statusesAfter: Readonly<Record<EscrowEvent['kind'], readonly EscrowStatus[]>> = {
  created: ['Active'],
  submitted: ['WorkSubmitted'],
  approved: ['Completed'],
  released: ['Completed', 'Arbitrated'],
  refunded: ['Refunded', 'Arbitrated'],
  disputed: ['Disputed'],
  ruled: ['Arbitrated', 'Completed', 'Refunded'],
  finalized: ['Arbitrated', 'Completed', 'Refunded'],
}

/**
 * Logs against `getPact` of one pact: one contract wrote both, so a node that shows them different cannot be believed.
 * Null where they agree.
 */
export function logsAgainstState({ events, state }: PactOnChain): string | null {
  const last = events.at(-1)
  if (last === undefined) return state === null ? null : `its logs lack it`
  if (state === null) return `getPact does not know it`
  if (!statusesAfter[last.kind].includes(state.status)) {
    return `its last log is ${last.kind} in block ${last.block}, and getPact says ${state.status}`
  }
  const logged = submittedHash(events)
  if (logged === state.workHash) return null
  return `its logs have the work hash ${logged ?? 'none'}, and getPact ${state.workHash ?? 'none'}`
}

/** The work hash of the newest submission; null before one. */
export function submittedHash(events: readonly EscrowEvent[]): string | null {
  return events.findLast(({ kind }) => kind === 'submitted')?.workHash ?? null
}

/** The manifests themselves, and their hash and deadline against the escrow's. */
export function manifestAgainstEscrow(
  manifests: PactManifests,
  onChain: PactOnChain | null,
): Disagreement[] {
  const { refusals, workHash, spec } = manifests.checked
  const found = refusals.map(({ code, reason }): Disagreement => ({
    between: 'manifest and escrow',
    text: `${code}: ${reason}`,
  }))
  if (onChain === null) return found
  const { state, events } = onChain
  const submitted = submittedHash(events) ?? state?.workHash ?? null
  if (submitted !== null && workHash !== null && submitted !== workHash) {
    const text = `hash_divergence: the work submitted to the escrow has the hash ${submitted}; the manifest hashes to ${workHash}`
    found.push({ between: 'manifest and escrow', text })
  }
  const deadline = spec?.deadline ?? null
  if (state !== null && deadline !== null && isoDate(state.deadlineMs) !== deadline) {
    const text = `the specification names the deadline ${deadline}; the escrow has ${isoDate(state.deadlineMs)}`
    found.push({ between: 'manifest and escrow', text })
  }
  return found
}

export type ReceiptVerdict =
  | { readonly kind: 'settles' }
  /** The escrow was not read as far as the block of the receipt. */
  | { readonly kind: 'waits' }
  | { readonly kind: 'disagrees'; readonly problem: Disagreement }

/** A verified receipt against the escrow. Only the escrow's own parties settle a pact: a job id can be written by anyone. */
export function receiptAgainstEscrow(
  receipt: PactReceipt,
  onChain: PactOnChain | null,
  reading: EscrowReading | null,
): ReceiptVerdict {
  const problemOf = (text: string): Disagreement => ({
    between: 'receipt and escrow',
    text: `${receipt.receiptId}: ${text}`,
  })
  const disagrees = (text: string): ReceiptVerdict => ({
    kind: 'disagrees',
    problem: problemOf(text),
  })
  const stranger = (text: string): ReceiptVerdict => ({
    kind: 'disagrees',
    problem: { ...problemOf(text), byStranger: true },
  })
  if (receipt.chain !== pactEscrow.chain) {
    return stranger(`it is on ${receipt.chain}; the escrow is on ${pactEscrow.chain}`)
  }
  if (reading === null) return { kind: 'settles' }
  const state = onChain?.state ?? null
  if (state === null) {
    if (!reading.caughtUp || receipt.block > reading.toBlock) return { kind: 'waits' }
    return stranger(`the escrow has no pact ${receipt.pactId}`)
  }
  const party = partyProblem(receipt, state)
  if (party !== null) return stranger(party)
  if (paidRecipient(onChain)) return { kind: 'settles' }
  if (receipt.block > reading.toBlock) return { kind: 'waits' }
  return disagrees(`the escrow has not paid the recipient: it says ${state.status}`)
}

function partyProblem({ payer, worker }: PactReceipt, state: EscrowPact): string | null {
  if (worker.id !== state.recipient) {
    return `wrong_signer: it pays ${worker.id}; the recipient is ${state.recipient}`
  }
  const payers = [state.creator, pactEscrow.address.toLowerCase()]
  if (payers.includes(payer.id)) return null
  return `it is paid by ${payer.id}; the creator is ${state.creator}`
}

/** Whether the escrow has paid out to the recipient, by approval, release or ruling. */
export function paidRecipient(onChain: PactOnChain | null): boolean {
  if (onChain?.state?.status === 'Completed') return true
  const last = onChain?.events.findLast(({ kind }) => kind === 'ruled' || kind === 'released')
  if (onChain?.state?.status !== 'Arbitrated' || last === undefined) return false
  return last.kind === 'released' || last.favorRecipient === true
}

/** One work is handed in once: the later pact of two with one hash is the replay. By pact. */
export function replays(
  onChain: ReadonlyMap<number, PactOnChain>,
): ReadonlyMap<number, Disagreement> {
  const found = new Map<number, Disagreement>()
  const first = new Map<string, number>()
  const submissions = [...onChain.values()]
    .flatMap(({ events }) => events.filter(({ kind }) => kind === 'submitted'))
    .sort((a, b) => a.block - b.block || a.logIndex - b.logIndex)
  for (const { workHash, pactId } of submissions) {
    if (workHash === null) continue
    const earlier = first.get(workHash) ?? pactId
    first.set(workHash, earlier)
    if (earlier === pactId) continue
    const text = `replay: its work hash ${workHash} was submitted for pact ${earlier} before`
    found.set(pactId, { between: 'two pacts', text })
  }
  return found
}
