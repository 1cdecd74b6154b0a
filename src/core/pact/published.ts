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
  for (const [name, claim, found] of claimsOf(published, onChain)) {
    if (claim === null) continue
    if (claim === found) confirmed.push(name)
    else contradictions.push(`${name}: published ${claim}, by the escrow ${found ?? 'none'}`)
  }
  const verification = contradictions.length === 0 ? 'confirmed' : 'contradicted'
  return { verification, confirmed, contradictions }
}

type Claim = readonly [name: string, claim: string | null, found: string | null | undefined]

function claimsOf(published: PublishedPact, { events, state }: PactOnChain): readonly Claim[] {
  const event = (...kinds: readonly string[]) => events.findLast(({ kind }) => kinds.includes(kind))
  const submitted = event('submitted')
  const paid = event('approved', 'released')
  const { publishedAs, amountPact, submitWorkBlock } = published
  return [
    ['status', publishedAs === 'settled' ? 'Completed' : null, state?.status],
    ['amount_pact', textOf(amountPact), state && pactAmount(state.amount)],
    ['worker', published.worker, state?.recipient],
    ['work_hash', published.workHash, state?.workHash],
    ['submit_work_tx', published.submitWorkTx, submitted?.txHash],
    ['submit_work_block', textOf(submitWorkBlock), textOf(submitted?.block ?? null)],
    ['approve_tx', published.approveTx, paid?.txHash],
    ['completed_on', published.completedOn, paid && isoDate(paid.atMs)],
    ['deadline', published.deadline, state && isoDate(state.deadlineMs)],
  ]
}

function textOf(value: number | null): string | null {
  return value === null ? null : String(value)
}
