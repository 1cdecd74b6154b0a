import { isoDate } from '../time.ts'
import { pactAmount, pactEscrow } from './escrow.ts'
import type { EscrowReading, PactOnChain, PublishedPact } from './sources.ts'

export interface PublishedVerdict {
  readonly verification: 'unverified' | 'confirmed' | 'contradicted'
  readonly confirmed: readonly string[]
  readonly contradictions: readonly string[]
}

const unverified: PublishedVerdict = {
  verification: 'unverified',
  confirmed: [],
  contradictions: [],
}

export function judgePublished(
  published: PublishedPact,
  onChain: PactOnChain | null,
  reading: EscrowReading | null,
): PublishedVerdict {
  if (published.contract.toLowerCase() !== pactEscrow.address.toLowerCase()) return unverified
  if (reading === null || !reading.caughtUp) return unverified
  if (onChain === null || onChain.state === null) {
    const contradictions = [`the escrow has no pact ${published.pactId}`]
    return { verification: 'contradicted', confirmed: [], contradictions }
  }
  const confirmed: string[] = []
  const contradictions: string[] = []
  for (const { name, claim, found } of claimsOf(published, onChain)) {
    if (claim === null) continue
    if (claim === found) confirmed.push(name)
    else contradictions.push(`${name}: published ${claim}, by the escrow ${found ?? 'none'}`)
  }
  const verification = contradictions.length === 0 ? 'confirmed' : 'contradicted'
  return { verification, confirmed, contradictions }
}

interface Claim {
  readonly name: string
  readonly claim: string | null
  readonly found: string | null
}

function claimsOf(published: PublishedPact, { events, state }: PactOnChain): readonly Claim[] {
  const event = (...kinds: readonly string[]) => events.findLast(({ kind }) => kinds.includes(kind))
  const submitted = event('submitted')
  const paid = event('approved', 'released')
  const isPaid = published.publishedAs === 'settled' ? 'Completed' : null
  return [
    { name: 'status', claim: isPaid, found: state?.status ?? null },
    {
      name: 'amount_pact',
      claim: published.amountPact === null ? null : String(published.amountPact),
      found: state === null ? null : pactAmount(state.amount),
    },
    { name: 'worker', claim: published.worker, found: state?.recipient ?? null },
    { name: 'work_hash', claim: published.workHash, found: state?.workHash ?? null },
    { name: 'submit_work_tx', claim: published.submitWorkTx, found: submitted?.txHash ?? null },
    {
      name: 'submit_work_block',
      claim: published.submitWorkBlock === null ? null : String(published.submitWorkBlock),
      found: submitted === undefined ? null : String(submitted.block),
    },
    { name: 'approve_tx', claim: published.approveTx, found: paid?.txHash ?? null },
    {
      name: 'completed_on',
      claim: published.completedOn,
      found: paid === undefined ? null : isoDate(paid.atMs),
    },
    {
      name: 'deadline',
      claim: published.deadline,
      found: state === null ? null : isoDate(state.deadlineMs),
    },
  ]
}
