/** Draws requests: most are valid, some are not, some are repeats. */
import type { Intent } from '../model/intent.ts'
import { apply, ofWebhook, subscribe } from './alerts.ts'
import { ask, code } from './emails.ts'
import { exchange } from './jobs.ts'
import { attest, leave, profile, signup, toFree } from './partners.ts'
import type { Circumstances, Sent } from './sent.ts'
import { statement } from './statements.ts'
import { feedback, propose } from './unsigned.ts'

type Make = (at: Circumstances) => Sent | null | Promise<Sent | null>

const makers = {
  register: async (at) => await statement('register', at),
  receipt: async (at) => await statement('receipt', at),
  claim: async (at) => await statement('claim', at),
  ask,
  code,
  signup,
  attest,
  profile,
  free: toFree,
  leave,
  subscribe,
  unsubscribe: async (at) => await ofWebhook('unsubscribe', at),
  try: async (at) => await ofWebhook('try', at),
  apply,
  post: async (at) => await exchange('post', at),
  bid: async (at) => await exchange('bid', at),
  award: async (at) => await exchange('award', at),
  deliver: async (at) => await exchange('deliver', at),
  accept: async (at) => await exchange('accept', at),
  dispute: async (at) => await exchange('dispute', at),
  cancel: async (at) => await exchange('cancel', at),
  feedback,
  propose,
} as const satisfies Readonly<Record<Intent['kind'], Make>>

/** Null if there is nothing to request. */
export async function request(kind: Intent['kind'], at: Circumstances): Promise<Sent | null> {
  const make: Make = makers[kind]
  return await make(at)
}
