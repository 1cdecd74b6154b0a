/**
 * The partner bearer: a wallet and its signature over time, method and path in the headers of a request.
 * This file says who signed; whether the wallet is a partner's is asked elsewhere.
 */
import type { IncomingMessage } from 'node:http'

import type { ActionDeps } from '../actions/deps.ts'
import type { SignedProof } from '../actions/idempotency.ts'
import { checkSignature, requireTimely, shownMessage, signedProof } from '../actions/signed-body.ts'
import { messages, sha256Hex } from '../auth/messages.ts'
import { parsePartnerTimestamp, unixSecondsOfDateHeader } from '../auth/timestamps.ts'
import { ApiError } from '../contract/errors.ts'
import { WalletError, parseWallet } from '../core/wallet.ts'
import type { Wallet } from '../core/wallet.ts'
import type { WalletAdmission } from '../limits/admission.ts'
import { onlyHeader } from './only-header.ts'

/** `body`: the signature covers the raw body as well. */
export type Binding = 'path' | 'body'

export interface PartnerProof extends SignedProof {
  readonly binding: Binding
  readonly timestampMs: number
  /** The wallet in the spelling of the request. */
  readonly sentWallet: string
}

/** The request as far as the signature covers it. */
export interface SignedTarget {
  /** Upper case, as received. */
  readonly method: string
  /** Raw, from `/api/v1` on, without the query. */
  readonly path: string
  /** Lower-case hex; of no bytes where there is no body. */
  readonly rawSha256: string
  readonly nowMs: number
  readonly idempotencyKey: string | null
}

/**
 * Verifies the credentials of a request and charges its wallet.
 * @throws ApiError 401 in all its forms; 429; 503 where only a chain can verify and it cannot be reached
 */
export type PartnerAuth = (
  incoming: IncomingMessage,
  target: SignedTarget,
  admission: WalletAdmission,
) => Promise<PartnerProof>

/** Reads may repeat a signature inside the window; this many verified ones are remembered. */
const REMEMBERED = 4096

export function createPartnerAuth(
  deps: Pick<ActionDeps, 'serviceName' | 'walletChain' | 'verifyInWorker'>,
): PartnerAuth {
  const verified = createMemory<Binding>(REMEMBERED)
  return async (incoming, target, admission) => {
    const sent = credentialsOf(incoming)
    const timestampMs = parsePartnerTimestamp(sent.timestamp)
    if (timestampMs === null) {
      throw new ApiError(
        'credentials_malformed',
        'X-Partner-Timestamp is decimal Unix seconds (10 digits) or milliseconds (13 digits)',
      )
    }
    const timely = requireTimely(timestampMs, target)
    const wallet = walletOf(sent.wallet)
    await admission.precheck(wallet)
    const { signature } = sent
    const texts = messagesOf(deps.serviceName, sent.timestamp, target)
    const isRead = target.method === 'GET' || target.method === 'HEAD'
    const memory = isRead ? sha256Hex(`${wallet.id}\n${signature}\n${texts.body}`) : null
    const known = memory === null ? undefined : verified.get(memory)
    const binding = known ?? (await bindingOf(deps, { texts, signature, wallet, isRead }))
    // A contract wallet may change its mind, a key cannot.
    const isLasting = deps.walletChain(wallet.kind) === undefined
    if (memory !== null && isLasting) verified.set(memory, binding)
    await admission.charge(wallet)
    const message = texts[binding]
    return {
      ...signedProof({ message, signature, wallet, timestampMs, timely }),
      binding,
      timestampMs,
      sentWallet: sent.wallet,
    }
  }
}

function messagesOf(
  service: string,
  timestamp: string,
  { method, path, rawSha256 }: SignedTarget,
): Readonly<Record<Binding, string>> {
  const signed = { timestamp, method, path }
  return {
    path: messages.partnerAuthV1(service, signed),
    body: messages.partnerAuthV2(service, { ...signed, rawSha256 }),
  }
}

/** Tries first what clients send most: bound to the body for writes, to the path for reads. */
async function bindingOf(
  deps: Pick<ActionDeps, 'walletChain' | 'verifyInWorker'>,
  claim: {
    readonly texts: Readonly<Record<Binding, string>>
    readonly signature: string
    readonly wallet: Wallet
    readonly isRead: boolean
  },
): Promise<Binding> {
  const { texts, signature, wallet, isRead } = claim
  let reason = ''
  for (const binding of isRead ? (['path', 'body'] as const) : (['body', 'path'] as const)) {
    const verdict = await checkSignature(deps, { message: texts[binding], signature, wallet })
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
  /** As it stands in the message. */
  readonly timestamp: string
}

const howToSend =
  'Send Authorization: Bearer <wallet>:<signature>, or X-Partner-Wallet and X-Partner-Signature; and the time that was signed in X-Partner-Timestamp'

const BEARER = /^Bearer +([^\s:]{1,100}):([^\s]{1,17000})$/i

function credentialsOf(incoming: IncomingMessage): Credentials {
  const authorization = onlyHeader(incoming, 'authorization')
  const wallet = onlyHeader(incoming, 'x-partner-wallet')
  const signature = onlyHeader(incoming, 'x-partner-signature')
  const timestamp = timestampOf(incoming)
  if (authorization === null) {
    if (wallet === null && signature === null) throw new ApiError('credentials_missing', howToSend)
    if (wallet === null || signature === null) {
      throw new ApiError(
        'credentials_malformed',
        'X-Partner-Wallet and X-Partner-Signature go together',
      )
    }
    return { wallet, signature, timestamp }
  }
  if (wallet !== null || signature !== null) {
    throw new ApiError(
      'credentials_malformed',
      'Send Authorization or the X-Partner headers, not both',
    )
  }
  const match = BEARER.exec(authorization)
  if (match === null) {
    throw new ApiError('credentials_malformed', 'Authorization must be Bearer <wallet>:<signature>')
  }
  return { wallet: match[1] ?? '', signature: match[2] ?? '', timestamp }
}

/** True where a request shows credentials of any form, good or not. */
export function showsCredentials(incoming: IncomingMessage): boolean {
  const { headers } = incoming
  return ['authorization', 'x-partner-wallet', 'x-partner-signature'].some(
    (name) => headers[name] !== undefined,
  )
}

function timestampOf(incoming: IncomingMessage): string {
  const timestamp = onlyHeader(incoming, 'x-partner-timestamp')
  if (timestamp !== null) return timestamp
  const date = onlyHeader(incoming, 'date')
  return (date === null ? null : unixSecondsOfDateHeader(date)) ?? ''
}

function walletOf(text: string): Wallet {
  try {
    return parseWallet(text)
  } catch (error) {
    if (!(error instanceof WalletError)) throw error
    throw new ApiError('credentials_malformed', error.message)
  }
}

/** A map of bounded size; the oldest entry gives way. */
function createMemory<Value>(size: number) {
  const entries = new Map<string, Value>()
  return {
    get: (key: string): Value | undefined => entries.get(key),
    set: (key: string, value: Value): void => {
      if (!entries.has(key) && entries.size >= size) {
        for (const oldest of entries.keys()) {
          entries.delete(oldest)
          break
        }
      }
      entries.set(key, value)
    },
  }
}
