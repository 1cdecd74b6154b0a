/** Partners: signed in the headers over the body, and where the specification says so in the body as well. */
import { messages } from '../auth/messages.ts'
import { isoTime } from '../core/time.ts'
import { callOf } from './call.ts'
import type { BodyOf, PayOptions, QueryOf } from './call.ts'
import { requireSigner, signedText } from './prepare.ts'
import type { Caller } from './prepare.ts'
import { swear } from './sign.ts'
import type { OathText } from './sign.ts'
import type { WriteOptions } from './writes.ts'

export function partnerCalls(caller: Caller) {
  return {
    partner: (handle: string) => callOf(caller, 'getPartner', { params: { handle } }),
    partnerOaths: (handle: string, query: QueryOf<'listPartnerOaths'> = {}) =>
      callOf(caller, 'listPartnerOaths', { params: { handle }, query }),
    me: () => callOf(caller, 'getMyPartner', { partner: 'v1' }),
    signupPartner: async (
      signup: Omit<BodyOf<'signupPartner'>, 'timestamp' | 'oath_signature'>,
      oath: OathText,
      options: WriteOptions = {},
    ) => {
      const timestamp = isoTime(caller.clock.now())
      const { signature, signed } = await swear(caller, oath, timestamp)
      const body = { ...signup, timestamp, oath_signature: signature }
      return await callOf(caller, 'signupPartner', {
        body,
        signed: [signed],
        partner: 'v2',
        ...options,
      })
    },
    /** Pays for a tier, renews it or changes it. @throws PaymentRequiredError with the price */
    changeSubscription: (
      body: BodyOf<'changeSubscription'>,
      options: WriteOptions & PayOptions = {},
    ) => callOf(caller, 'changeSubscription', { body, partner: 'v2', ...options }),
    /** What is paid for stays until its end. */
    cancelSubscription: () => callOf(caller, 'cancelSubscription', { partner: 'v2' }),
    updateMe: (changes: BodyOf<'updateMyPartner'>) =>
      callOf(caller, 'updateMyPartner', { body: changes, partner: 'v2' }),
    /** Signed in the body by the bound wallet, or by one of the oath history where none is bound. */
    setAttestationEndpoint: async (handle: string, url: string) => {
      const signer = requireSigner(caller)
      const timestamp = isoTime(caller.clock.now())
      const message = messages.attestationEndpoint(caller.serviceName, { timestamp, handle, url })
      const signature = await signer.signMessage(message)
      return await callOf(caller, 'updateAttestationEndpoint', {
        params: { handle },
        body: { url, wallet: signer.wallet, timestamp, signature },
        signed: [signedText('signature', message)],
      })
    },
  } as const
}
