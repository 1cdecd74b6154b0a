import type { WalletChain } from '../auth/contract-wallet.ts'
import { bodySha256, sha256Hex } from '../auth/messages.ts'
import { verifySignature } from '../auth/schemes.ts'
import { SigningKeyError, publicKeyFromBase64 } from '../auth/signing-key.ts'
import { SIGNED_WINDOW_MS, parseBodyTimestamp } from '../auth/timestamps.ts'
import { SchemeUnavailableError } from '../auth/verdict.ts'
import type { SignatureVerdict } from '../auth/verdict.ts'
import { ApiError } from '../contract/errors.ts'
import type { JsonObject } from '../core/canonical-json.ts'
import { parseUsdc } from '../core/money.ts'
import { WalletError, readWallet } from '../core/wallet.ts'
import type { Wallet } from '../core/wallet.ts'
import type { CostAdmission, WalletAdmission } from '../limits/admission.ts'
import type { ActionDeps } from './deps.ts'
import { expired } from './idempotency.ts'
import type { SignedProof, WriteRequest } from './idempotency.ts'
import type { ClientFingerprint } from './write-quotas.ts'

interface SignedWords {
  readonly wallet: string
  readonly timestamp: string
  readonly signature: string
}

/** A write with its validated body, as the HTTP layer hands it over. */
export interface IncomingWrite<Body> {
  readonly body: Body
  /** The parsed body without schema defaults. The signed hash covers this form. */
  readonly json: JsonObject
  readonly request: WriteRequest
  readonly admission: WalletAdmission
  readonly fingerprint: ClientFingerprint
}

type CheckDeps = Pick<ActionDeps, 'signatures' | 'outboundLimits'>
type VerifyDeps = CheckDeps & Pick<ActionDeps, 'site'>

/** @throws ApiError 400 for wallet or time, 401 for a wrong signature or old time, 503 for an unreachable chain */
export async function verifySignedBody(
  deps: VerifyDeps,
  write: Pick<IncomingWrite<SignedWords>, 'body' | 'json' | 'request' | 'admission'>,
  /** Builds the signed message, see `auth/messages.ts`. */
  messageOf: (
    service: string,
    from: Omit<SignedWords, 'signature'> & { readonly bodySha256: string },
  ) => string,
): Promise<SignedProof> {
  const { wallet, timestamp, signature } = write.body
  const from = { wallet, timestamp, bodySha256: bodySha256(write.json) }
  const message = () => messageOf(deps.site.serviceName, from)
  return await verifySignedMessage(deps, write, { wallet, timestamp, signature, message })
}

/** Like `verifySignedBody`, for a message that does not contain the hash of the body. */
export async function verifySignedMessage(
  deps: VerifyDeps,
  write: Pick<IncomingWrite<unknown>, 'request' | 'admission'>,
  statement: SignedWords & { readonly message: () => string },
): Promise<SignedProof> {
  const { signature } = statement
  const time = requireTimestamp(statement.timestamp, write.request)
  const wallet = requireWallet(statement.wallet, 'wallet')
  const message = statement.message()
  await write.admission.precheck(wallet)
  await requireSignature(deps, { message, signature, wallet }, write.admission)
  await write.admission.charge(wallet)
  return signedProof({ message, signature, wallet, ...time })
}

export function requireTimestamp(
  text: string,
  request: Pick<WriteRequest, 'nowMs' | 'idempotencyKey'>,
): Pick<SignedProof, 'timestampMs' | 'timely'> {
  const timestampMs = parseBodyTimestamp(text)
  if (timestampMs === null) throw invalidField('timestamp', 'must be an RFC 3339 time')
  return { timestampMs, timely: requireTimely(timestampMs, request) }
}

/** Outside the window only a request with an idempotency key continues. @throws ApiError `signature_expired` */
export function requireTimely(
  timestampMs: number,
  request: Pick<WriteRequest, 'nowMs' | 'idempotencyKey'>,
): boolean {
  const timely = Math.abs(request.nowMs - timestampMs) <= SIGNED_WINDOW_MS
  if (!timely && request.idempotencyKey === null) throw expired(timestampMs, request.nowMs)
  return timely
}

/** @throws ApiError `signature_invalid` with the checked message, `unavailable` for an unreachable chain */
export async function requireSignature(
  deps: CheckDeps,
  claim: { readonly message: string; readonly signature: string; readonly wallet: Wallet },
  costs: CostAdmission,
  what = '',
): Promise<void> {
  const verdict = await checkSignature(deps, claim, costs)
  if (!verdict.valid) {
    throw new ApiError(
      'signature_invalid',
      `${what}${verdict.reason}: ${shownMessage(claim.message)}`,
    )
  }
}

export function shownMessage(message: string): string {
  return message.slice(0, 800)
}

export async function checkSignature(
  deps: CheckDeps,
  claim: { readonly message: string; readonly signature: string; readonly wallet: Wallet },
  costs: CostAdmission,
): Promise<SignatureVerdict> {
  const { outboundLimits, signatures } = deps
  const walletChain = signatures.walletChain(claim.wallet.kind)
  const bounded: WalletChain['bounded'] = (work) =>
    outboundLimits.chain.run(() => {
      costs.chargeOutbound()
      return work()
    }, costs.network)
  const chain = walletChain === undefined ? {} : { chain: { ...walletChain, bounded } }
  return await orUnavailable(verifySignature({ ...claim, check: signatures.check, ...chain }))
}

export async function orUnavailable(
  checking: Promise<SignatureVerdict>,
): Promise<SignatureVerdict> {
  try {
    return await checking
  } catch (error) {
    if (!(error instanceof SchemeUnavailableError)) throw error
    throw new ApiError('unavailable', error.message)
  }
}

/** The guard row expires twice the window after the signed time, so after any use. */
export function signedProof(checked: {
  readonly message: string
  readonly signature: string
  readonly wallet: Wallet
  readonly timestampMs: number
  readonly timely: boolean
}): SignedProof {
  return {
    wallet: checked.wallet,
    messageSha256: sha256Hex(checked.message),
    signatureSha256: sha256Hex(checked.signature),
    timestampMs: checked.timestampMs,
    expiresAtMs: checked.timestampMs + 2 * SIGNED_WINDOW_MS,
    timely: checked.timely,
  }
}

export function requireWallet(text: string, path: string): Wallet {
  const found = readWallet(text)
  if (found instanceof WalletError) throw invalidField(path, found.message)
  return found
}

export function requireUsdc(amount: number | string, path: string): number {
  const micro = parseUsdc(amount)
  if (micro === null) throw invalidField(path, 'is not an amount of USDC')
  return micro
}

export function requirePublicKey(text: string, path: string): Uint8Array {
  try {
    return publicKeyFromBase64(text.replace(/^ed25519:/, ''))
  } catch (error) {
    if (!(error instanceof SigningKeyError)) throw error
    throw invalidField(path, error.message)
  }
}

export function invalidField(path: string, message: string): ApiError {
  return new ApiError('invalid_input', undefined, { issues: [{ path, message }] })
}
