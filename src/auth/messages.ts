import { hash } from 'node:crypto'

import { canonicalize, zeroSignatureFields } from '../core/canonical-json.ts'

/**
 * Every text that a wallet signs, side by side. Each begins with the service and its own tag, so no
 * message of one kind is one of another, and nothing that a user chose stands before the tag.
 * Wallets and timestamps go in exactly as they were sent.
 */
export const messages = {
  register: (service: string, from: SignedBody) => bodyMessage(`${service}-register-v1`, from),
  claim: (service: string, from: SignedBody) => bodyMessage(`${service}-claim-v1`, from),
  receipt: (service: string, from: SignedBody) => bodyMessage(`${service}-receipt-v1`, from),
  deliver: (service: string, from: SignedBody & { readonly jobId: string }) =>
    `${service}-deliver-v1:${from.wallet}:${from.timestamp}:${from.jobId}:${from.bodySha256}`,
  attestationEndpoint: (
    service: string,
    from: { readonly timestamp: string; readonly handle: string; readonly url: string },
  ) => `${service}-attestation-endpoint-v1:${from.timestamp}:${from.handle}:${from.url}`,
  partnerAuthV1: (service: string, from: SignedRequest) =>
    `${service}-partner-auth-v1:${from.timestamp}:${from.method}:${from.path}`,
  partnerAuthV2: (service: string, from: SignedRequest & { readonly rawSha256: string }) =>
    `${service}-partner-auth-v2:${from.timestamp}:${from.method}:${from.path}:${from.rawSha256}`,
} as const

export interface SignedBody {
  readonly wallet: string
  /** RFC 3339, as in the body. */
  readonly timestamp: string
  readonly bodySha256: string
}

export interface SignedRequest {
  /** Unix seconds or milliseconds, as in the header. */
  readonly timestamp: string
  /** In upper case. */
  readonly method: string
  /** As requested, from `/api/v1` on, without the query. */
  readonly path: string
}

function bodyMessage(tag: string, from: SignedBody): string {
  return `${tag}:${from.wallet}:${from.timestamp}:${from.bodySha256}`
}

/**
 * An oath with `{WALLET}` and `{TIMESTAMP}` filled in. One pass over the template: a brace in what
 * is put in is text, and is never filled in again.
 */
export function fillOath(
  template: string,
  values: { readonly wallet: string; readonly timestamp: string },
): string {
  return template.replaceAll(/\{(?:WALLET|TIMESTAMP)\}/g, (slot) =>
    slot === '{WALLET}' ? values.wallet : values.timestamp,
  )
}

/** Lower-case hex SHA-256 of the canonical JSON of a body with its signature fields zeroed. */
export function bodySha256(body: object): string {
  return sha256Hex(signingText(body))
}

/** What a receipt's own ed25519 signature covers: its canonical JSON with signature fields zeroed. */
export function signingText(body: object): string {
  return canonicalize(zeroSignatureFields(body))
}

/** The id that a receipt has everywhere, of its content alone: `rcp_` and 64 hex digits. */
export function receiptId(receipt: object): string {
  return receiptIdOf(signingText(receipt))
}

/** The same where the signing text is there already. */
export function receiptIdOf(text: string): string {
  return `rcp_${sha256Hex(text)}`
}

/** Lower-case hex SHA-256 of bytes, or of the UTF-8 of a text. */
export function sha256Hex(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex')
}
