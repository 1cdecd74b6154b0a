/** Requests as values: what will be sent, and every text that was signed for it. Nothing is sent here. */
import { messages, sha256Hex } from '../auth/messages.ts'
import { apiPrefix } from '../contract/route.ts'
import type { Route } from '../contract/route.ts'
import { canonicalize } from '../core/canonical-json.ts'
import type { Clock, Random } from '../core/deps.ts'
import { CallError } from './errors.ts'
import type { Signer } from './signers.ts'

/** What every request is made from. */
export interface Caller {
  /** Scheme, host and port, without a slash at the end. */
  readonly siteUrl: string
  /** Stands for `<service>` in every signed message. */
  readonly serviceName: string
  readonly clock: Pick<Clock, 'now'>
  readonly random: Pick<Random, 'bytes'>
  readonly signer: Signer | null
}

/** A text that a key of ours signed. */
export interface SignedText {
  /** Name of the field or header that carries the signature. */
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
  /** Canonical JSON; null where there is no body. */
  readonly body: string | null
  readonly signed: readonly SignedText[]
}

/** How the headers say who calls: not at all, or by the partner bearer, bound to the body or not. */
export type PartnerForm = 'v1' | 'v2'

export interface RequestParts {
  readonly method: PreparedRequest['method']
  /** From the root of the site, escapes included. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
  readonly partner?: PartnerForm
  readonly idempotencyKey?: string
  /** Base64 of an x402 payment, of either version. */
  readonly payment?: string
  /** Texts in the body that were signed before. */
  readonly signed?: readonly SignedText[]
}

/** @throws CallError where a partner call has no signer. */
export async function prepare(caller: Caller, parts: RequestParts): Promise<PreparedRequest> {
  const { method, path, query = {} } = parts
  const body = parts.body === undefined ? null : canonicalize(parts.body)
  const search = new URLSearchParams(query).toString()
  const partner =
    parts.partner === undefined
      ? null
      : await partnerHeaders(caller, parts.partner, { method, path, body })
  return {
    method,
    url: `${caller.siteUrl}${path}${search === '' ? '' : `?${search}`}`,
    headers: {
      ...(body === null ? {} : { 'Content-Type': 'application/json' }),
      ...(method === 'POST'
        ? { 'Idempotency-Key': parts.idempotencyKey ?? newIdempotencyKey(caller.random) }
        : {}),
      ...(parts.payment === undefined ? {} : { 'PAYMENT-SIGNATURE': parts.payment }),
      ...partner?.headers,
    },
    body,
    signed: [...(parts.signed ?? []), ...(partner === null ? [] : [partner.signed])],
  }
}

/** For what is sold: a partner whose tier covers it signs, everybody else pays. */
export function partnerIfAny({ signer }: Pick<Caller, 'signer'>): { readonly partner?: 'v1' } {
  return signer === null ? {} : { partner: 'v1' }
}

/** 128 bits of randomness in hex. */
export function newIdempotencyKey(random: Pick<Random, 'bytes'>): string {
  return Buffer.from(random.bytes(16)).toString('hex')
}

/** @throws CallError */
export function requireSigner({ signer }: Pick<Caller, 'signer'>): Signer {
  if (signer !== null) return signer
  throw new CallError('this call is signed: a key is needed')
}

/** The text with its hash. */
export function signedText(carrier: string, text: string): SignedText {
  return { carrier, text, sha256: sha256Hex(text) }
}

/**
 * Scheme, host and port of an address of the ledger; `/api/v1` at its end is taken off.
 * @throws CallError for an address with anything else: the path that is signed starts at the root.
 */
export function siteUrlOf(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null
  const path = url?.pathname.replace(/\/+$/, '')
  const isPlain =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    (path === '' || path === apiPrefix) &&
    `${url.search}${url.hash}${url.username}${url.password}` === ''
  if (!isPlain) {
    throw new CallError('the address of a ledger is a scheme, a host and a port, and nothing else')
  }
  return url.origin
}

/** Times are in milliseconds, so that two calls within one second are two messages. */
async function partnerHeaders(
  caller: Caller,
  form: PartnerForm,
  { method, path, body }: { method: string; path: string; body: string | null },
): Promise<{ headers: Record<string, string>; signed: SignedText }> {
  const signer = requireSigner(caller)
  const timestamp = String(caller.clock.now())
  const request = { timestamp, method, path }
  const message =
    form === 'v1'
      ? messages.partnerAuthV1(caller.serviceName, request)
      : messages.partnerAuthV2(caller.serviceName, { ...request, rawSha256: sha256Hex(body ?? '') })
  const signature = await signer.signMessage(message)
  return {
    headers: {
      Authorization: `Bearer ${signer.wallet}:${signature}`,
      'X-Partner-Timestamp': timestamp,
    },
    signed: signedText('Authorization', message),
  }
}
