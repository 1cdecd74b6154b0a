/** Feedback and proposals, which are not signed. */
import type { Of } from './intent.ts'
import { dayMs } from './reading.ts'
import type { Note, State } from './state.ts'
import { refused } from './verdict.ts'
import type { Verdict } from './verdict.ts'

const hourMs = 3_600_000
const twinMs = 15 * 60_000
/** Limits per hour and address. */
const mostOf = { agent: 5, address: 30, proposals: 10 } as const

export function feedback(state: State, request: Of<'feedback'>, nowMs: number): Verdict {
  const { intent } = request
  const mine = state.feedback.filter(({ address }) => address === request.address)
  const known = mine.filter(({ atMs }) => isKnownDay(atMs, nowMs))
  const same = known.filter(({ agent }) => agent === request.agent)
  const twin = same.findLast(({ text, atMs }) => text === intent.text && atMs > nowMs - twinMs)
  if (twin !== undefined) {
    const body = { feedback_id: twin.id, deduplicated: true }
    if (request.key === null) return { kind: 'repeat', status: 200, body }
    return { kind: 'success', status: 200, answer: body, write: () => undefined }
  }
  const recent = (notes: readonly Note[]) => notes.filter(({ atMs }) => atMs > nowMs - hourMs)
  const isFull = recent(same).length >= mostOf.agent || recent(known).length >= mostOf.address
  if (isFull) return refused('rate_limited')
  return {
    kind: 'success',
    status: 201,
    answer: { deduplicated: false },
    write: (next, answer) => {
      const { address, agent } = request
      const id = String(answer['feedback_id'])
      next.feedback.push({ id, text: intent.text, address, agent, atMs: nowMs })
    },
  }
}

export function propose(state: State, request: Of<'propose'>, nowMs: number): Verdict {
  const { intent } = request
  const mine = state.proposals.filter(({ address }) => address === request.address)
  const recent = mine.filter(({ atMs }) => atMs > nowMs - hourMs && isKnownDay(atMs, nowMs))
  if (recent.length >= mostOf.proposals) return refused('rate_limited')
  return {
    kind: 'success',
    status: 202,
    answer: { slug: intent.slug, status: 'pending' },
    write: (next, answer) => {
      const { address, agent } = request
      const id = String(answer['proposal_id'])
      next.proposals.push({ id, text: intent.text, address, agent, atMs: nowMs })
    },
  }
}

/** Senders are identified by keyed hashes of today and yesterday. */
function isKnownDay(atMs: number, nowMs: number): boolean {
  const days = Math.floor(nowMs / dayMs) - Math.floor(atMs / dayMs)
  return days === 0 || days === 1
}
