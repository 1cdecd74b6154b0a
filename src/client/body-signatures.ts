import { messages, signingText } from '../auth/messages.ts'
import type { RouteId } from '../contract/routes.ts'
import { isoTime } from '../core/time.ts'
import { CallError } from './errors.ts'
import { requireSigner, signedText } from './prepare.ts'
import type { Caller, SignedText } from './prepare.ts'
import { signOath, signStatement } from './sign.ts'
import type { OathText } from './sign.ts'

interface UnsignedBody {
  readonly params: Readonly<Record<string, string>>
  readonly body: object
  readonly oath?: OathText | undefined
}

interface BodyToSend {
  readonly body: object
  readonly signed: readonly SignedText[]
}

type BodySigner = (caller: Caller, unsigned: UnsignedBody) => Promise<BodyToSend>

const bodySigners: Partial<Record<string, BodySigner>> = {
  registerWorker: (caller, { body, oath }) => signStatement(caller, messages.register, body, oath),
  claimSpot: async (caller, { body, oath }) =>
    'email' in body
      ? { body, signed: [] }
      : await signStatement(caller, messages.claim, body, requireOath(oath)),
  submitReceipt: async (caller, { body }) => {
    const carrier = 'platform' in body ? 'platform_signature' : 'worker_signature'
    const parts = await signStatement(caller, messages.receipt, body)
    return { ...parts, signed: [signedText(carrier, signingText(body)), ...parts.signed] }
  },
  deliverJob: (caller, { body, params }) => {
    const jobId = params['id'] ?? ''
    return signStatement(
      caller,
      (service, from) => messages.deliver(service, { ...from, jobId }),
      body,
    )
  },
  signupPartner: async (caller, { body, oath }) => {
    const timestamp = isoTime(caller.clock.now())
    const { signature, signed } = await signOath(caller, requireOath(oath), timestamp)
    return { body: { ...body, timestamp, oath_signature: signature }, signed: [signed] }
  },
  updateAttestationEndpoint: async (caller, { body, params }) => {
    const { wallet, signMessage } = requireSigner(caller)
    const timestamp = isoTime(caller.clock.now())
    const url = 'url' in body ? String(body.url) : ''
    const from = { timestamp, handle: params['handle'] ?? '', url }
    const message = messages.attestationEndpoint(caller.serviceName, from)
    const signature = await signMessage(message)
    return {
      body: { ...body, wallet, timestamp, signature },
      signed: [signedText('signature', message)],
    }
  },
} satisfies Partial<Record<RouteId, BodySigner>>

/** Returns the body unchanged for routes without a signature in the body. */
export async function signBody(
  caller: Caller,
  id: string,
  unsigned: UnsignedBody,
): Promise<BodyToSend> {
  const sign = bodySigners[id]
  return sign === undefined ? { body: unsigned.body, signed: [] } : await sign(caller, unsigned)
}

function requireOath(oath: OathText | undefined): OathText {
  if (oath !== undefined) return oath
  throw new CallError('this call signs an oath: pass the newest one of GET /oaths')
}
