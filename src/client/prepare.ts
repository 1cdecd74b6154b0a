import { messages, sha256Hex } from '../auth/messages.ts'
import { apiPrefix } from '../contract/route.ts'
import type { Route } from '../contract/route.ts'
import type { Clock, Random } from '../core/deps.ts'
import { CallError } from './errors.ts'
import type { WalletSigner } from './signers.ts'

export interface Caller {
  /** Scheme, host and port, without a trailing slash. */
  readonly siteUrl: string
  /** The value of `<service>` in every signed message. */
  readonly serviceName: string
  readonly clock: Pick<Clock, 'now'>
  readonly random: Pick<Random, 'bytes'>
  readonly signer: WalletSigner | null
}

export interface SignedText {
  /** Field or header that contains the signature. */
  readonly carrier: string
  /** The canonical message, or the text of an oath or a receipt. */
  readonly text: string
  readonly sha256: string
}

export interface PreparedRequest {
  readonly method: Route['method']
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Canonical JSON. */
  readonly body: string | null
  readonly signed: readonly SignedText[]
}

/** @throws CallError */
export function requireSigner({ signer }: Pick<Caller, 'signer'>): WalletSigner {
  if (signer !== null) return signer
  throw new CallError('this call must be signed: a private key is required')
}

export function signedText(carrier: string, text: string): SignedText {
  return { carrier, text, sha256: sha256Hex(text) }
}

/** Removes a trailing `/api/v1`. @throws CallError for any other path, since signed paths start at the root */
export function siteUrlOf(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null
  const path = url?.pathname.replace(/\/+$/, '')
  const isPlain =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    (path === '' || path === apiPrefix) &&
    `${url.search}${url.hash}${url.username}${url.password}` === ''
  if (!isPlain) {
    throw new CallError(
      'the ledger address must be scheme, host and port, such as https://ledger.example',
    )
  }
  return url.origin
}

/** The time is in milliseconds, so that two calls within one second sign different messages. @throws CallError */
export async function signPartnerHeaders(
  caller: Caller,
  { method, path, body }: { method: string; path: string; body: string | null },
): Promise<{ headers: Record<string, string>; signed: SignedText }> {
  const { wallet, signMessage } = requireSigner(caller)
  const timestamp = String(caller.clock.now())
  const request = { timestamp, method, path }
  const message =
    method === 'GET'
      ? messages.partnerAuthV1(caller.serviceName, request)
      : messages.partnerAuthV2(caller.serviceName, { ...request, rawSha256: sha256Hex(body ?? '') })
  const headers = {
    Authorization: `Bearer ${wallet}:${await signMessage(message)}`,
    'X-Partner-Timestamp': timestamp,
  }
  return { headers, signed: signedText('Authorization', message) }
}
