/** Draws requests: most are valid, some are not, some are repeats. */
import { post, transition } from './jobs.ts'
import type { Kind } from './operations.ts'
import { apply, attest, free, leave, profile, signup, subscribe, useWebhook } from './partners.ts'
import type { Circumstances, SimulatedRequest } from './request.ts'
import { claim, receipt, register } from './statements.ts'
import { ask, code, feedback, propose } from './unsigned.ts'

type Draw = (at: Circumstances) => SimulatedRequest | null | Promise<SimulatedRequest | null>

const draws: Readonly<Record<Kind, Draw>> = {
  register,
  receipt,
  claim,
  ask,
  code,
  signup,
  attest,
  profile,
  free,
  leave,
  subscribe,
  unsubscribe: useWebhook,
  try: useWebhook,
  enable: useWebhook,
  apply,
  post,
  bid: transition,
  award: transition,
  deliver: transition,
  accept: transition,
  dispute: transition,
  cancel: transition,
  feedback,
  propose,
}

/** Null if there is nothing to request. */
export async function drawRequest(at: Circumstances): Promise<SimulatedRequest | null> {
  return await draws[at.kind](at)
}
