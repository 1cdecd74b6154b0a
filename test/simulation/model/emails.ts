/** Claims by e-mail: a code works once, in time, and after few wrong ones. */
import type { Of } from './intent.ts'
import { rename } from './names.ts'
import { iso } from './reading.ts'
import type { Code, State } from './state.ts'
import { refused } from './verdict.ts'
import type { Verdict } from './verdict.ts'

const lifeMs = 15 * 60_000
const hourMs = 3_600_000
const mostTries = 5
/** Limits per hour: to one address, and from one client. */
const mostSends = { toOne: 3, fromOne: 10 } as const

/** A spot of a key or of another address cannot be claimed by e-mail. */
export function isFree({ claims, workers }: State, wallet: string | null): boolean {
  if (wallet === null) return true
  return !workers.has(wallet) && ![...claims.values()].some((claim) => claim.wallet === wallet)
}

function hasClaim({ claims }: State, email: string): boolean {
  return [...claims.values()].some((claim) => claim.email === email)
}

export function hasRoom({ sends }: State, email: string, nowMs: number): boolean {
  const recent = sends.filter(({ atMs }) => atMs > nowMs - hourMs)
  const toOne = recent.filter((send) => send.email === email)
  return toOne.length < mostSends.toOne && recent.length < mostSends.fromOne
}

/** The state without the e-mails of other requests. */
export function seenBy<Seen extends Pick<State, 'sends'>>(seen: Seen, name: string): Seen {
  const sends = seen.sends.map((send) => (send.by === name ? send : { ...send, by: null }))
  return { ...seen, sends }
}

export function isOld(atMs: number, nowMs: number): boolean {
  return atMs <= nowMs - hourMs
}

export function isLive(code: Code | undefined, nowMs: number): code is Code {
  return code !== undefined && code.expiresMs > nowMs && code.tries < mostTries
}

/** The e-mail is counted before it is sent, and the request is answered afterwards. */
export function ask(state: State, request: Of<'ask'>, nowMs: number): Verdict {
  const { email, name, looks, to } = request.intent
  const wallet = to?.id ?? null
  const isSent = state.sends.some(
    ({ by, ...send }) => by !== null && send.email === email && send.atMs === nowMs,
  )
  if (!isSent) {
    return refused(
      ...(isFree(state, wallet) ? [] : ['spot_claimed']),
      ...(hasRoom(state, email, nowMs) ? [] : ['rate_limited']),
    )
  }
  const expiresMs = nowMs + lifeMs
  return {
    kind: 'success',
    status: 202,
    answer: { status: 'code_sent', expires_at: iso(expiresMs) },
    write: (next) => {
      if (hasClaim(next, email)) return
      next.codes.set(email, { name, looks, to, tries: 0, expiresMs, hash: null })
    },
  }
}

export function code(state: State, request: Of<'code'>, nowMs: number): Verdict {
  const { email, hash } = request.intent
  const sent = state.codes.get(email)
  if (!isLive(sent, nowMs) || sent.hash !== hash) return refused('code_invalid')
  const { name, looks, to } = sent
  const wallet = to?.id ?? null
  if (hasClaim(state, email) || !isFree(state, wallet)) return refused('spot_claimed')
  return {
    kind: 'success',
    status: 201,
    answer: { wallet: to?.display ?? null, display_name: name, claimed_at: iso(nowMs) },
    write: (next) => {
      next.codes.delete(email)
      next.claims.set(`email ${email}`, { wallet, email, name, atMs: nowMs })
      if (wallet !== null) rename(next, { kind: 'claim', wallet, looks, nowMs })
    },
  }
}
