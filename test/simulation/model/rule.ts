import { apply, subscribe, testAlerts, unsubscribe } from './alerts.ts'
import { ask, code } from './emails.ts'
import type { RequestFacts } from './intent.ts'
import { exchange } from './jobs.ts'
import { attest, leave, profile, signup, toFree } from './partners.ts'
import { receipt } from './receipts.ts'
import type { State } from './state.ts'
import { feedback, propose } from './unsigned.ts'
import type { Verdict } from './verdict.ts'
import { claim, register } from './workers.ts'

export function rule(state: State, request: RequestFacts, nowMs: number): Verdict {
  const { intent } = request
  switch (intent.kind) {
    case 'register':
      return register(state, { ...request, intent }, nowMs)
    case 'receipt':
      return receipt(state, { ...request, intent }, nowMs)
    case 'claim':
      return claim(state, { ...request, intent }, nowMs)
    case 'ask':
      return ask(state, { ...request, intent }, nowMs)
    case 'code':
      return code(state, { ...request, intent }, nowMs)
    case 'signup':
      return signup(state, { ...request, intent }, nowMs)
    case 'attest':
      return attest(state, { ...request, intent }, nowMs)
    case 'profile':
      return profile(state, { ...request, intent }, nowMs)
    case 'free':
      return toFree(state, { ...request, intent }, nowMs)
    case 'leave':
      return leave(state, { ...request, intent }, nowMs)
    case 'subscribe':
      return subscribe(state, { ...request, intent }, nowMs)
    case 'unsubscribe':
      return unsubscribe(state, { ...request, intent }, nowMs)
    case 'try':
      return testAlerts(state, { ...request, intent }, nowMs)
    case 'apply':
      return apply(state, { ...request, intent }, nowMs)
    case 'feedback':
      return feedback(state, { ...request, intent }, nowMs)
    case 'propose':
      return propose(state, { ...request, intent }, nowMs)
    case 'post':
    case 'bid':
    case 'award':
    case 'deliver':
    case 'accept':
    case 'dispute':
    case 'cancel':
      break
  }
  return exchange(state, { ...request, intent }, nowMs)
}
