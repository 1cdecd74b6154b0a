/**
 * The wanted outcome of a request in a state, written from the rules and not from the code: refused, a repeat, or a
 * success with these rows and this answer.
 */
import type { RequestFacts, Proof } from './intent.ts'
import { dayMs } from './reading.ts'
import { rule } from './rule.ts'
import type { Kept, State } from './state.ts'
import { refused } from './verdict.ts'
import type { Body, Verdict } from './verdict.ts'

const windowMs = 5 * 60_000

export const usedKey = ({ wallet, sha }: Proof): string => `${wallet} ${sha}`
export const heldKey = ({ caller, key }: RequestFacts): string => `${caller} ${key ?? ''}`

export function judge(state: State, request: RequestFacts, nowMs: number): Verdict {
  const isTimely = request.proofs.every(
    ({ timestampMs }) => Math.abs(nowMs - timestampMs) <= windowMs,
  )
  const flaws = [
    ...request.flaws,
    ...(isTimely || request.key !== null ? [] : ['signature_expired']),
  ]
  if (flaws.length > 0) return refused(...flaws)
  const { intent } = request
  for (const proof of request.proofs) {
    const used = state.used.get(usedKey(proof))
    if (used === undefined) continue
    if (used.requestSha !== request.requestSha) return refused('signature_reused')
    return { kind: 'repeat', status: 200, body: used.body }
  }
  const held = request.key === null ? undefined : state.keys.get(heldKey(request))
  if (held !== undefined && held.untilMs > nowMs) {
    if (held.requestSha !== request.requestSha) return refused('idempotency_key_reused')
    return { kind: 'repeat', status: held.status, body: held.body }
  }
  const { restoredMs } = state
  // A restored file may have lost the message that this request repeats.
  const isLost =
    restoredMs !== null &&
    nowMs <= restoredMs + 2 * windowMs &&
    request.proofs.some(({ timestampMs }) => timestampMs <= restoredMs + windowMs)
  if (!isTimely) return refused('signature_expired')
  const verdict = rule(state, request, nowMs)
  if (isLost) {
    // The partner is looked up first, because the change may cost something.
    const isFirst = intent.kind === 'free' && verdict.kind === 'refused'
    return refused('signature_expired', ...(isFirst ? verdict.codes : []))
  }
  if (verdict.kind !== 'success') return verdict
  return {
    ...verdict,
    write: (next, answer) => {
      verdict.write(next, answer)
      keep(next, request, { status: verdict.status, body: answer, nowMs })
    },
  }
}

function keep(
  state: State,
  request: RequestFacts,
  answer: { readonly status: number; readonly body: Body; readonly nowMs: number },
): void {
  const { requestSha } = request
  const { status, body, nowMs } = answer
  for (const proof of request.proofs) {
    const untilMs = proof.timestampMs + 2 * windowMs
    state.used.set(usedKey(proof), { requestSha, status, body, untilMs })
  }
  if (request.key === null) return
  const held: Kept = { requestSha, status, body, untilMs: nowMs + dayMs }
  state.keys.delete(heldKey(request))
  state.keys.set(heldKey(request), held)
}
