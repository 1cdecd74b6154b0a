/** Authenticates the signing wallet of a request. The wallet need not belong to a partner. */
import type { IncomingMessage } from 'node:http'

import type { ActionDeps } from '../actions/deps.ts'
import type { BearerProof } from '../actions/partner-access.ts'
import { checkSignature, requireTimely, shownMessage, signedProof } from '../actions/signed-body.ts'
import { messages, sha256Hex } from '../auth/messages.ts'
import { parsePartnerTimestamp, unixSecondsOfDateHeader } from '../auth/timestamps.ts'
import type { SignatureVerdict } from '../auth/verdict.ts'
import { ApiError } from '../contract/errors.ts'
import { remember } from '../core/remember.ts'
import { WalletError, readWallet } from '../core/wallet.ts'
import type { Wallet } from '../core/wallet.ts'
import type { WalletAdmission } from '../limits/admission.ts'
import { onlyHeader } from './single-headers.ts'

type Binding = BearerProof['binding']

export interface SignedTarget {
  /** Upper case, as received. */
  readonly method: string
  readonly path: string
  /** Lower-case hex; the hash of zero bytes without a body. */
  readonly rawSha256: string
  readonly nowMs: number
  readonly idempotencyKey: string | null
}

/** Charges the verified wallet. @throws ApiError 401; 429; 503 if verification needs a chain that is unreachable */
export type PartnerAuth = (
  incoming: IncomingMessage,
  target: SignedTarget,
  admission: WalletAdmission,
) => Promise<BearerProof>

type AuthDeps = Pick<ActionDeps, 'site' | 'signatures' | 'outboundLimits'>

/** Number of cached signatures of reads, since reads may repeat a signature. */
const CACHE_SIZE = 4096

export function createPartnerAuth(deps: AuthDeps): PartnerAuth {
  const verified = new Map<string, Binding>()
  return async (incoming, target, admission) => {
    const sent = credentialsOf(incoming)
    const timestampMs = parsePartnerTimestamp(sent.timestamp)
    if (timestampMs === null) {
      throw malformed(
        'X-Partner-Timestamp must be Unix seconds (10 digits) or milliseconds (13 digits)',
      )
    }
    const timely = requireTimely(timestampMs, target)
    const wallet = walletOf(sent.wallet)
    await admission.precheck(wallet)
    const { signature } = sent
    const { method, path, rawSha256 } = target
    const { serviceName } = deps.site
    const signed = { timestamp: sent.timestamp, method, path }
    const texts = {
      path: messages.partnerAuthV1(serviceName, signed),
      body: messages.partnerAuthV2(serviceName, { ...signed, rawSha256 }),
    }
    const isRead = method === 'GET' || method === 'HEAD'
    const cacheKey = isRead ? sha256Hex(`${wallet.id}\n${signature}\n${texts.body}`) : null
    const known = cacheKey === null ? undefined : verified.get(cacheKey)
    const check = (message: string) =>
      checkSignature(deps, { message, signature, wallet }, admission)
    const binding = known ?? (await bindingOf(texts, isRead, check))
    // A contract wallet can revoke a signature; a plain key cannot.
    const isPermanent = deps.signatures.walletChain(wallet.kind) === undefined
    if (cacheKey !== null && isPermanent) remember(verified, cacheKey, binding, CACHE_SIZE)
    await admission.charge(wallet)
    const message = texts[binding]
    return {
      ...signedProof({ message, signature, wallet, timestampMs, timely }),
      binding,
      sentWallet: sent.wallet,
    }
  }
}

/** Tries the more common binding first: body for writes, path for reads. */
async function bindingOf(
  texts: Readonly<Record<Binding, string>>,
  isRead: boolean,
  check: (message: string) => Promise<SignatureVerdict>,
): Promise<Binding> {
  let reason = ''
  for (const binding of isRead ? (['path', 'body'] as const) : (['body', 'path'] as const)) {
    const verdict = await check(texts[binding])
    if (verdict.valid) return binding
    reason = verdict.reason
  }
  throw new ApiError(
    'signature_invalid',
    `${reason}: ${shownMessage(texts.path)} or ${shownMessage(texts.body)}`,
  )
}

interface Credentials {
  readonly wallet: string
  readonly signature: string
  readonly timestamp: string
}

const credentialsHelp =
  'Send Authorization: Bearer <wallet>:<signature>, or X-Partner-Wallet and X-Partner-Signature; send the signed time in X-Partner-Timestamp'

const BEARER = /^Bearer +([^\s:]{1,100}):([^\s]{1,17000})$/i

function credentialsOf(incoming: IncomingMessage): Credentials {
  const authorization = onlyHeader(incoming, 'authorization')
  const wallet = onlyHeader(incoming, 'x-partner-wallet')
  const signature = onlyHeader(incoming, 'x-partner-signature')
  const timestamp = timestampOf(incoming)
  if (authorization === null) {
    if (wallet === null && signature === null)
      throw new ApiError('credentials_missing', credentialsHelp)
    if (wallet === null || signature === null) {
      throw malformed('X-Partner-Wallet and X-Partner-Signature must be sent together')
    }
    return { wallet, signature, timestamp }
  }
  if (wallet !== null || signature !== null) {
    throw malformed('Send either Authorization or the X-Partner headers, not both')
  }
  const match = BEARER.exec(authorization)
  if (match === null) {
    throw malformed('Authorization must be Bearer <wallet>:<signature>')
  }
  return { wallet: match[1] ?? '', signature: match[2] ?? '', timestamp }
}

/** Does not check whether the credentials are valid. */
export function hasCredentials(incoming: IncomingMessage): boolean {
  const { headers } = incoming
  return ['authorization', 'x-partner-wallet', 'x-partner-signature'].some(
    (name) => headers[name] !== undefined,
  )
}

function malformed(details: string): ApiError {
  return new ApiError('credentials_malformed', details)
}

function timestampOf(incoming: IncomingMessage): string {
  const timestamp = onlyHeader(incoming, 'x-partner-timestamp')
  if (timestamp !== null) return timestamp
  const date = onlyHeader(incoming, 'date')
  return (date === null ? null : unixSecondsOfDateHeader(date)) ?? ''
}

function walletOf(text: string): Wallet {
  const found = readWallet(text)
  if (found instanceof WalletError) throw malformed(found.message)
  return found
}
