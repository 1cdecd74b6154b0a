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
  signature_expired: 'Compare your clock with the Date header of the answer, then sign again.',
  signature_invalid:
    'Compare the text that you signed with the message in the signing guide, byte by byte.',
  body_signature_required: 'Sign the v2 partner message, which holds the hash of the body.',
  method_not_allowed: 'The Allow header names the methods.',
  not_acceptable: 'Accept identity, gzip or br.',
  request_timeout: 'Send the request faster, or in one piece.',
  headers_too_large: 'Send fewer headers.',
  signature_reused: 'Take a new timestamp: a signed message is good for one write.',
  request_in_progress: 'Wait for the first answer, then ask again with the same key.',
  idempotency_key_reused: 'Use a new key for a new body.',
  unsupported_encoding: 'Send the body without Content-Encoding.',
}
