/** What to do about single errors, where their status alone does not say it. */
import type { ErrorCode } from '../../../src/contract/errors.ts'

export const remedies: Readonly<Partial<Record<ErrorCode, string>>> = {
  malformed_path:
    'Send the path without escapes of plain characters, double slashes and dot segments.',
  malformed_host: 'Send one Host header.',
  malformed_json: 'Send strict JSON: no comments, no trailing commas, no duplicate keys.',
  invalid_input: 'Read issues: each names a field and what is wrong with it.',
  unknown_parameter: 'Leave it out; details names it.',
  bad_cursor: 'Start the list again without a cursor.',
  digest_mismatch: 'Compute Content-Digest over the bytes that are sent.',
  signature_expired:
    'Compare your clock with the Date header of the answer, then sign again. For five minutes after the ledger was restored from a backup no present time is taken: details name the time after which one is, and Retry-After the seconds until then.',
  signature_invalid:
    'Compare the text that you signed with the message in the signing guide, byte by byte.',
  body_signature_required: 'Sign the v2 partner message, which holds the hash of the body.',
  method_not_allowed: 'The Allow header names the methods.',
  not_acceptable: 'Accept identity, gzip or br.',
  request_timeout: 'Send the request faster, or in one piece.',
  headers_too_large: 'Send fewer headers.',
  bound_reached: 'Read details: it names the bound, and what makes room.',
  signature_reused: 'Take a new timestamp: a signed message is good for one write.',
  request_in_progress: 'Wait for the first answer, then ask again with the same key.',
  idempotency_key_reused: 'Use a new key for a new body.',
  unsupported_encoding: 'Send the body without Content-Encoding.',
  payment_malformed:
    'Send the base64 of the JSON of one payment; numbers as plain decimal strings. Nothing was charged.',
  payment_required:
    'Pay as accepts or PAYMENT-REQUIRED says, or subscribe to a tier that covers it.',
  payment_off:
    'This installation takes no payments at the moment. Partners read what their tier includes.',
  payment_mismatch: 'Sign anew for the terms of this answer. Nothing was charged.',
  payment_expired: 'Sign anew; compare your clock with the Date header. Nothing was charged.',
  payment_signature_invalid:
    'Sign the EIP-712 message of the terms with the key of the payer; its domain stands in extra. Nothing was charged.',
  insufficient_funds: 'Bring USDC on Base to the payer, then sign anew. Nothing was charged.',
  payment_refused: 'Read details: the token would not move the amount. Nothing was charged.',
  authorization_already_used:
    'An authorization buys one answer: sign a new one with a new nonce for the next.',
  payment_unavailable:
    'Send the same payment again after Retry-After. Do not sign another one: this one may yet be taken, once.',
  settlement_pending:
    'Send the same payment again after Retry-After: it is delivered once it is on the chain. Do not sign another one.',
}
