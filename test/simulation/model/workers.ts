/** Workers, and spots on the leaderboard. */
import type { Of } from './intent.ts'
import { rename } from './names.ts'
import { activePartnerOf, isLookAlike, iso } from './reading.ts'
import type { State } from './state.ts'
import { refused } from './verdict.ts'
import type { Verdict } from './verdict.ts'

export function register(state: State, request: Of<'register'>, nowMs: number): Verdict {
  const { intent, wallet, display } = request
  if (intent.isOutside && activePartnerOf(state, wallet, nowMs) === null) return refused('refused')
  const before = state.workers.get(wallet)
  const registeredMs = before?.registeredMs ?? nowMs
  const { name, skills, receiptKey, looks } = intent
  const write = (next: State): void => {
    next.workers.set(wallet, { name, skills, receiptKey, registeredMs, updatedMs: nowMs })
    rename(next, { kind: 'worker', wallet, looks, nowMs })
  }
  const after = { ...state, names: new Map(state.names), workers: new Map(state.workers) }
  write(after)
  return {
    kind: 'success',
    status: before === undefined ? 201 : 200,
    answer: {
      wallet: display,
      display_name: name ?? undefined,
      skills,
      registered_at: iso(registeredMs),
      updated_at: iso(nowMs),
      looks_like_another: isLookAlike(after, 'worker', wallet) ? true : undefined,
    },
    write,
  }
}

export function claim(state: State, request: Of<'claim'>, nowMs: number): Verdict {
  const { intent, wallet, display } = request
  const now = iso(nowMs)
  const before = [...state.claims].find(([, one]) => one.wallet === wallet)
  if (before !== undefined && before[1].email === null) return refused('spot_claimed')
  return {
    kind: 'success',
    status: 201,
    answer: { wallet: display, display_name: intent.name, claimed_at: now },
    write: (next) => {
      if (before !== undefined) next.claims.delete(before[0])
      next.claims.set(wallet, { wallet, email: null, name: intent.name, atMs: nowMs })
      rename(next, { kind: 'claim', wallet, looks: intent.looks, nowMs })
      next.audit.push(['claim', wallet, null, 'claimSpot', now])
    },
  }
}
