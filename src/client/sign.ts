/** Signs the bodies of calls as their routes require. */
import { bodySha256, fillOath, messages, signingText } from '../auth/messages.ts'
import type { SignedBody } from '../auth/messages.ts'
import type { AnswerOf } from '../contract/route-types.ts'
import type { RouteId } from '../contract/routes.ts'
import { isoTime } from '../core/time.ts'
import { CallError } from './errors.ts'
import { requireSigner, signedText } from './prepare.ts'
import type { Caller, SignedText } from './prepare.ts'

export type OathText = AnswerOf<'listOaths'>['oaths'][number]

interface UnsignedBody {
  readonly params: Readonly<Record<string, string>>
  readonly body: object
  readonly oath?: OathText | undefined
}

interface SignedParts {
  readonly body: object
  readonly signed: readonly SignedText[]
}

type BodySigner = (caller: Caller, unsigned: UnsignedBody) => Promise<SignedParts>
type Statement = (service: string, from: SignedBody) => string

const bodySigners: Partial<Record<string, BodySigner>> = {
  registerWorker: (caller, { body, oath }) => signStatement(caller, messages.register, body, oath),
  claimSpot: async (caller, { body, oath }) =>
    'email' in body
      ? { body, signed: [] }
      : await signStatement(caller, messages.claim, body, requireOath(oath)),
  openDispute: (caller, { body }) => signStatement(caller, messages.dispute, body),
  withdrawDispute: (caller, { body }) => signStatement(caller, messages.dispute, body),
  submitReceipt: async (caller, { body }) => {
    const carrier = 'platform' in body ? 'platform_signature' : 'worker_signature'
    const parts = await signStatement(caller, messages.receipt, body)
    return { ...parts, signed: [signedText(carrier, signingText(body)), ...parts.signed] }
  },
  deliverJob: async (caller, { body, params }) => {
    const jobId = params['id'] ?? ''
    const statement: Statement = (service, from) => messages.deliver(service, { ...from, jobId })
    return await signStatement(caller, statement, body)
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
    const signed = [signedText('signature', message)]
    return { body: { ...body, wallet, timestamp, signature }, signed }
  },
} satisfies Partial<Record<RouteId, BodySigner>>

/** Returns the body unchanged for routes without a signature in the body. @throws CallError */
export async function signBody(
  caller: Caller,
  id: string,
  unsigned: UnsignedBody,
): Promise<SignedParts> {
  const sign = bodySigners[id]
  return sign === undefined ? { body: unsigned.body, signed: [] } : await sign(caller, unsigned)
}

/** Adds wallet, timestamp and signature to a body, and the signature over an oath, if there is one. */
async function signStatement(
  caller: Caller,
  statement: Statement,
  body: object,
  oath?: OathText,
): Promise<SignedParts> {
  const { wallet, signMessage } = requireSigner(caller)
  const timestamp = isoTime(caller.clock.now())
  const oathPart = oath === undefined ? null : await signOath(caller, oath, timestamp)
  const unsigned = {
    ...body,
    wallet,
    timestamp,
    signature: '',
    ...(oathPart === null ? {} : { oath_signature: oathPart.signature }),
  }
  const from = { wallet, timestamp, bodySha256: bodySha256(unsigned) }
  const message = statement(caller.serviceName, from)
  const signature = await signMessage(message)
  return {
    body: { ...unsigned, signature },
    signed: [signedText('signature', message), ...(oathPart === null ? [] : [oathPart.signed])],
  }
}

/** The text of an oath comes from a server, so any other text is refused. @throws CallError */
async function signOath(
  caller: Caller,
  { kind, version, text: template }: OathText,
  timestamp: string,
): Promise<{ readonly signature: string; readonly signed: SignedText }> {
  const { wallet, signMessage } = requireSigner(caller)
  const [title = ''] = template.split('\n', 1)
  const isOath =
    new RegExp(`^[a-z0-9-]{1,64} ${kind} oath, version ${version}$`).test(title) &&
    template.includes('{WALLET}') &&
    template.includes('{TIMESTAMP}')
  if (!isOath) throw new CallError(`the ${kind} oath of the ledger is malformed`)
  const text = fillOath(template, { wallet, timestamp })
  return { signature: await signMessage(text), signed: signedText('oath_signature', text) }
}

function requireOath(oath: OathText | undefined): OathText {
  if (oath !== undefined) return oath
  throw new CallError('this call signs an oath: pass the newest one of GET /oaths')
}

/** @throws CallError if there is no oath of this kind */
export function newestOath(oaths: readonly OathText[], kind: OathText['kind']): OathText {
  const [newest] = oaths
    .filter((oath) => oath.kind === kind)
    .toSorted((left, right) => right.version - left.version)
  if (newest === undefined) throw new CallError(`the ledger has no ${kind} oath`)
  return newest
}
