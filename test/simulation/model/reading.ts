/** Values derived from a state. */
import type { Entry, Job, Partner, State } from './state.ts'

export const dayMs = 86_400_000

export function iso(timeMs: number): string {
  return new Date(timeMs).toISOString()
}

/** The score of a wallet in USDC, by the published formula. */
export function scoreOf(entries: readonly Entry[], wallet: string, nowMs: number): number {
  let sum = 0
  for (const entry of entries) {
    if (entry.wallet !== wallet) continue
    sum += entry.valueMicro * Math.exp((entry.atMs - nowMs) / (60 * dayMs))
  }
  return Math.max(0, sum) / 1e6
}

export function countedOf(entries: readonly Entry[], wallet: string): readonly Entry[] {
  return entries.filter((entry) => entry.wallet === wallet && entry.rank !== null)
}

export function partnerOf(state: State, wallet: string): string | null {
  for (const [handle, partner] of state.partners) if (partner.wallet === wallet) return handle
  return null
}

/** A signup expires without a payment, even before the builder records it. */
export function standingAt({ status, atMs }: Partner, nowMs: number): Partner['status'] {
  return status === 'pending' && nowMs >= atMs + 14 * dayMs ? 'cancelled' : status
}

/** The handle of an active partner. */
export function activePartnerOf(state: State, wallet: string, nowMs: number): string | null {
  const handle = partnerOf(state, wallet)
  const partner = handle === null ? undefined : state.partners.get(handle)
  return partner !== undefined && standingAt(partner, nowMs) === 'active' ? handle : null
}

/** A job expires at its deadline, even before the builder records it. */
export function statusAt(job: Job, nowMs: number): string {
  const isOver = nowMs >= job.deadlineMs && (job.status === 'open' || job.status === 'awarded')
  return isOver ? 'expired' : job.status
}

export function isLookAlike(state: State, kind: string, wallet: string): boolean {
  const own = state.names.get(`${kind} ${wallet}`)
  if (own === undefined) return false
  for (const other of state.names.values()) {
    if (other.wallet === wallet || other.looks !== own.looks) continue
    if (other.sinceMs < own.sinceMs || (other.sinceMs === own.sinceMs && other.wallet < wallet)) {
      return true
    }
  }
  return false
}
