import { canonicalize, zeroSignatureFields } from '../core/canonical-json.ts'
import { sha256Hex } from './crypto.ts'

export { sha256Hex } from './crypto.ts'

/** Canonical messages for wallets; each starts with the service and its own tag. Values are used as sent. */
export const messages = {
  register: (service: string, from: SignedBody) => bodyMessage(`${service}-register-v1`, from),
  claim: (service: string, from: SignedBody) => bodyMessage(`${service}-claim-v1`, from),
  dispute: (service: string, from: SignedBody) => bodyMessage(`${service}-dispute-v1`, from),
  receipt: (service: string, from: SignedBody) => bodyMessage(`${service}-receipt-v1`, from),
  deliver: (service: string, from: SignedBody & { readonly jobId: string }) =>
    `${service}-deliver-v1:${from.wallet}:${from.timestamp}:${from.jobId}:${from.bodySha256}`,
  attestationEndpoint: (
    service: string,
    from: { readonly timestamp: string; readonly handle: string; readonly url: string },
  ) => `${service}-attestation-endpoint-v1:${from.timestamp}:${from.handle}:${from.url}`,
  /** Signed by the new wallet; wallets as displayed by the ledger. */
  partnerWallet: (
    service: string,
    from: Readonly<Record<'timestamp' | 'handle' | 'oldWallet' | 'wallet', string>>,
  ) =>
    `${service}-partner-wallet-v1:${from.timestamp}:${from.handle}:${from.oldWallet}:${from.wallet}`,
  /** Signed by the payer. `buyer`: the handle of a partner, or the nonce of a payment for a read. */
  payment: (service: string, from: { readonly buyer: string }) =>
    `${service}-payment-v1:${from.buyer}`,
  partnerAuthV1: (service: string, from: SignedRequest) =>
    `${service}-partner-auth-v1:${from.timestamp}:${from.method}:${from.path}`,
  partnerAuthV2: (service: string, from: SignedRequest & { readonly rawSha256: string }) =>
    `${service}-partner-auth-v2:${from.timestamp}:${from.method}:${from.path}:${from.rawSha256}`,
} as const

export interface SignedBody {
  readonly wallet: string
  readonly timestamp: string
  readonly bodySha256: string
}

export interface SignedRequest {
  /** Unix seconds or milliseconds, as in the header. */
  readonly timestamp: string
  readonly method: string
  readonly path: string
}

function bodyMessage(tag: string, from: SignedBody): string {
  return `${tag}:${from.wallet}:${from.timestamp}:${from.bodySha256}`
}

/** Fills `{WALLET}` and `{TIMESTAMP}` in one pass: braces in a value are never filled in. */
export function fillOath(
  template: string,
  values: { readonly wallet: string; readonly timestamp: string },
): string {
  return template.replaceAll(/\{(?:WALLET|TIMESTAMP)\}/g, (slot) =>
    slot === '{WALLET}' ? values.wallet : values.timestamp,
  )
}

/** Lower-case hex of the canonical JSON with zeroed signature fields. */
export function bodySha256(body: object): string {
  return sha256Hex(signingText(body))
}

export function signingText(body: object): string {
  return canonicalize(zeroSignatureFields(body))
}

export function receiptId(receipt: object): string {
  return `rcp_${bodySha256(receipt)}`
}
