/** Which rule a request falls under. */
import { apply, subscribe, testAlerts, unsubscribe } from './alerts.ts'
import type { Asked } from './intent.ts'
import { exchange } from './jobs.ts'
import { ask, code } from './letters.ts'
import { attest, leave, profile, signup, toFree } from './partners.ts'
import { claim, register } from './people.ts'
import { receipt } from './receipts.ts'
import type { State } from './state.ts'
import type { Verdict } from './verdict.ts'
import { feedback, propose } from './words.ts'

export function rule(state: State, asked: Asked, nowMs: number): Verdict {
  const { intent } = asked
  switch (intent.kind) {
    case 'register':
      return register(state, { ...asked, intent }, nowMs)
    case 'receipt':
      return receipt(state, { ...asked, intent }, nowMs)
    case 'claim':
      return claim(state, { ...asked, intent }, nowMs)
    case 'ask':
      return ask(state, { ...asked, intent }, nowMs)
    case 'code':
      return code(state, { ...asked, intent }, nowMs)
    case 'signup':
      return signup(state, { ...asked, intent }, nowMs)
    case 'attest':
      return attest(state, { ...asked, intent }, nowMs)
    case 'profile':
      return profile(state, { ...asked, intent }, nowMs)
    case 'free':
      return toFree(state, { ...asked, intent }, nowMs)
    case 'leave':
      return leave(state, { ...asked, intent }, nowMs)
    case 'subscribe':
      return subscribe(state, { ...asked, intent }, nowMs)
    case 'unsubscribe':
      return unsubscribe(state, { ...asked, intent }, nowMs)
    case 'try':
      return testAlerts(state, { ...asked, intent }, nowMs)
    case 'apply':
      return apply(state, { ...asked, intent }, nowMs)
    case 'feedback':
      return feedback(state, { ...asked, intent }, nowMs)
    case 'propose':
      return propose(state, { ...asked, intent }, nowMs)
    case 'post':
    case 'bid':
    case 'award':
    case 'deliver':
    case 'accept':
    case 'dispute':
    case 'cancel':
      break
  }
  return exchange(state, { ...asked, intent }, nowMs)
}
