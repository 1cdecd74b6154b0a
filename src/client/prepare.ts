import { messages, sha256Hex } from '../auth/messages.ts'
import { apiPrefix } from '../contract/route.ts'
import type { Route } from '../contract/route.ts'
import { canonicalize } from '../core/canonical-json.ts'
import type { Clock, Random } from '../core/deps.ts'
import { CallError } from './errors.ts'
import type { WalletSigner } from './signers.ts'

export interface Caller {
  /** Without a trailing slash. */
  readonly siteUrl: string
  /** The value of `<service>` in every signed message. */
  readonly serviceName: string
  readonly clock: Pick<Clock, 'now'>
  readonly random: Pick<Random, 'bytes'>
  readonly signer: WalletSigner | null
}

export interface SignedText {
  /** Field or header of the signature. */
  readonly carrier: string
  /** The canonical message, or the text of an oath or a receipt. */
  readonly text: string
  /** Lower-case hex of its UTF-8. */
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

export interface RequestParts {
  /** Percent-encoded. */
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly body: object | null
  /** Signed texts in the body. */
  readonly signed: readonly SignedText[]
  readonly idempotencyKey: string | undefined
  /** Base64 of an x402 payment, of either version. */
  readonly payment: string | undefined
}

/** @throws CallError if a partner call has no signer */
export async function prepareRequest(
  caller: Caller,
  route: Route,
  parts: RequestParts,
): Promise<PreparedRequest> {
  const { method } = route
  const { path, payment, idempotencyKey } = parts
  const body = parts.body === null ? null : canonicalize(parts.body)
  const search = new URLSearchParams(parts.query).toString()
  const partner = needsPartner(caller, route)
    ? await signPartnerHeaders(caller, { method, path, body })
    : null
  return {
    method,
    url: `${caller.siteUrl}${path}${search === '' ? '' : `?${search}`}`,
    headers: {
      ...(body === null ? {} : { 'Content-Type': 'application/json' }),
      ...(method === 'POST'
        ? { 'Idempotency-Key': idempotencyKey ?? newIdempotencyKey(caller.random) }
        : {}),
      ...(payment === undefined ? {} : { 'PAYMENT-SIGNATURE': payment }),
      ...partner?.headers,
    },
    body,
    signed: [...parts.signed, ...(partner === null ? [] : [partner.signed])],
  }
}

/** Without a key, a priced read is sent unsigned and paid for instead. */
function needsPartner({ signer }: Caller, { access, method, price }: Route): boolean {
  return access === 'partner' && (signer !== null || method !== 'GET' || price === undefined)
}

/** 128 random bits in hex. */
export function newIdempotencyKey(random: Pick<Random, 'bytes'>): string {
  return Buffer.from(random.bytes(16)).toString('hex')
}

/** @throws CallError */
export function requireSigner({ signer }: Pick<Caller, 'signer'>): WalletSigner {
  if (signer !== null) return signer
  throw new CallError('this call must be signed: a private key is required')
}

export function signedText(carrier: string, text: string): SignedText {
  return { carrier, text, sha256: sha256Hex(text) }
}

/** Removes a trailing `/api/v1`. @throws CallError for any other path: signed paths start at the root */
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

/** The time is in milliseconds, so that two calls within one second sign different messages. */
async function signPartnerHeaders(
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
  return {
    headers: {
      Authorization: `Bearer ${wallet}:${await signMessage(message)}`,
      'X-Partner-Timestamp': timestamp,
    },
    signed: signedText('Authorization', message),
  }
}
