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
    else
      contradictions.push(`${name}: published as ${claim}, but the escrow has ${found ?? 'none'}`)
  }
  const verification = contradictions.length === 0 ? 'confirmed' : 'contradicted'
  return { verification, confirmed, contradictions }
}

type Claim = readonly [name: string, claim: string | null, found: string | null | undefined]

function claimsOf(published: PublishedPact, { events, state }: PactOnChain): readonly Claim[] {
  const { claims } = published
  const event = (...kinds: readonly string[]) => events.findLast(({ kind }) => kinds.includes(kind))
  const submitted = event('submitted')
  const paid = event('approved', 'released')
  return [
    ['status', published.publishedAs === 'settled' ? 'Completed' : null, state?.status],
    ['amount_pact', textOf(claims.amount_pact), state && pactAmount(state.amount)],
    ['worker', claims.worker ?? null, state?.recipient],
    ['work_hash', claims.work_hash ?? null, state?.workHash],
    ['submit_work_tx', claims.submit_work_tx ?? null, submitted?.txHash],
    ['submit_work_block', textOf(claims.submit_work_block), textOf(submitted?.block)],
    ['approve_tx', claims.approve_tx ?? null, paid?.txHash],
    ['completed_on', claims.completed_on ?? null, paid && isoDate(paid.atMs)],
    ['deadline', claims.deadline ?? null, state && isoDate(state.deadlineMs)],
  ]
}

function textOf(value: number | undefined): string | null {
  return value === undefined ? null : String(value)
}
