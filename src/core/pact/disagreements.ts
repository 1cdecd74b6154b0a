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
  readonly between: string
  readonly text: string
  /** The receipt is not from a party of the pact, so it does not block the settlement. */
  readonly byStranger?: true
}

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

/** Logs and state come from one contract, so a node that reports a difference is not trusted. */
export function logsAgainstState({ events, state }: PactOnChain): string | null {
  const last = events.at(-1)
  if (last === undefined) return state === null ? null : `the logs do not contain the pact`
  if (state === null) return `getPact returns no such pact`
  if (!statusesAfter[last.kind].includes(state.status)) {
    return `the last log is ${last.kind} in block ${last.block}, but getPact returns ${state.status}`
  }
  const logged = submittedHash(events)
  if (logged === state.workHash) return null
  return `the logs have the work hash ${logged ?? 'none'}, but getPact returns ${state.workHash ?? 'none'}`
}

export function submittedHash(events: readonly EscrowEvent[]): string | null {
  return events.findLast(({ kind }) => kind === 'submitted')?.workHash ?? null
}

export function manifestAgainstEscrow(
  manifests: PactManifests,
  onChain: PactOnChain | null,
): Disagreement[] {
  const { refusals, workHash, spec } = manifests.checked
  const found = refusals.map(({ code, reason }): Disagreement => ({
    between: 'manifest',
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
  | { readonly kind: 'waits' }
  | { readonly kind: 'disagrees'; readonly problem: Disagreement }

/** Only receipts between the parties of a pact settle it, since anyone can write its job id into a receipt. */
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
    return stranger(`the receipt is on ${receipt.chain}; the escrow is on ${pactEscrow.chain}`)
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
  return disagrees(`the escrow has not paid the recipient: its status is ${state.status}`)
}

function partyProblem({ payer, worker }: PactReceipt, state: EscrowPact): string | null {
  if (worker.id !== state.recipient) {
    return `wrong_signer: the receipt pays ${worker.id}; the recipient of the pact is ${state.recipient}`
  }
  const payers = [state.creator, pactEscrow.address.toLowerCase()]
  if (payers.includes(payer.id)) return null
  return `the payer of the receipt is ${payer.id}; the creator of the pact is ${state.creator}`
}

export function paidRecipient(onChain: PactOnChain | null): boolean {
  if (onChain?.state?.status === 'Completed') return true
  const last = onChain?.events.findLast(({ kind }) => kind === 'ruled' || kind === 'released')
  if (onChain?.state?.status !== 'Arbitrated' || last === undefined) return false
  return last.kind === 'released' || last.favorRecipient === true
}

/** If two pacts have the same work hash, the later one is the replay. */
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
    const text = `replay: the work hash ${workHash} was already submitted for pact ${earlier}`
    found.set(pactId, { between: 'two pacts', text })
  }
  return found
}
