/** Writes of workers, each signed in its body by the wallet. */
import { messages } from '../auth/messages.ts'
import { callOf } from './call.ts'
import type { BodyOf } from './call.ts'
import type { Caller } from './prepare.ts'
import { signStatement } from './sign.ts'
import type { OathText, Sealed, SealedReceipt } from './sign.ts'

type SignatureFields = 'wallet' | 'timestamp' | 'signature' | 'oath_signature'

export interface WriteOptions {
  /** Random unless given. */
  readonly idempotencyKey?: string | undefined
}

export function workerCalls(caller: Caller) {
  return {
    registerWorker: async (
      worker: Omit<BodyOf<'registerWorker'>, SignatureFields>,
      options: WriteOptions & { readonly oath?: OathText } = {},
    ) => {
      const { oath, ...rest } = options
      const parts = await signStatement(caller, messages.register, worker, oath)
      return await callOf(caller, 'registerWorker', { ...parts, ...rest })
    },
    claimSpot: async (
      claim: { readonly display_name: string; readonly oath: OathText },
      options: WriteOptions = {},
    ) => {
      const { oath, ...body } = claim
      const parts = await signStatement(caller, messages.claim, body, oath)
      return await callOf(caller, 'claimSpot', { ...parts, ...options })
    },
    /** First step of a claim by e-mail: the ledger sends a code. */
    requestClaimCode: (
      body: { readonly email: string; readonly display_name: string; readonly wallet?: string },
      options: WriteOptions = {},
    ) => callOf(caller, 'claimSpot', { body, ...options }),
    /** Second step of a claim by e-mail. */
    claimWithCode: (
      body: { readonly email: string; readonly code: string },
      options: WriteOptions = {},
    ) => callOf(caller, 'claimSpot', { body, ...options }),
    submitReceipt: async (sealed: Sealed<SealedReceipt>, options: WriteOptions = {}) => {
      const { receipt, signed } = sealed
      const parts = await signStatement(caller, messages.receipt, receipt)
      const call = { body: parts.body, signed: [signed, ...parts.signed] }
      return await callOf(caller, 'submitReceipt', { ...call, ...options })
    },
  } as const
}
