/** The table of error codes: when each is returned and how to handle it. */
import { errorCodes } from '../../../src/contract/errors.ts'
import type { ErrorCode } from '../../../src/contract/errors.ts'
import { entriesOf } from '../../../src/core/entries.ts'
import { code, link } from '../../../src/pages/html-and-markdown.ts'
import type { HtmlAndMarkdown } from '../../../src/pages/html-and-markdown.ts'
import { column, figureColumn, fixedColumn, table } from '../../../src/pages/table.ts'

export function errorTable(): HtmlAndMarkdown {
  return table(entriesOf(errorCodes), {
    id: 'error-codes',
    caption: 'By status.',
    rowId: ([name]) => name,
    columns: [
      column('Code', ([name]) => link(`#${name}`, code(name))),
      figureColumn('Status', null, ([, { status }]) => String(status)),
      fixedColumn('When', ([, { message }]) => message, 'wide'),
      fixedColumn(
        'What to do',
        ([name, { status }]) => remedies[name] ?? remediesByStatus[status] ?? 'Read details.',
        'wide',
      ),
    ],
  })
}

const remediesByStatus: Readonly<Record<number, string>> = {
  400: 'Correct the request; repeating it unchanged fails again.',
  401: 'Sign again with a current timestamp, over exactly the data that you send.',
  402: 'Pay, or subscribe to a tier that covers the read.',
  403: 'Use a wallet that is allowed to do this.',
  404: 'Look up the correct name in the list of that resource.',
  409: 'Fetch the current state and retry.',
  413: 'Send a smaller body.',
  415: 'Send the body as application/json.',
  422: 'Read details: a rule of the ledger rejected the request.',
  429: 'Wait for the number of seconds in Retry-After.',
  500: 'Try again later; report the error if it persists.',
  503: 'Try again after Retry-After.',
}

/** Remedies for codes whose status alone does not explain what to do. */
const remedies: Readonly<Partial<Record<ErrorCode, string>>> = {
  malformed_path:
    'Send the path without unnecessary percent-encoding, double slashes or dot segments.',
  malformed_host: 'Send exactly one Host header.',
  malformed_json: 'Send strict JSON: no comments, no trailing commas, no duplicate keys.',
  invalid_input: 'Read issues: each entry names a field and its problem.',
  unknown_parameter: 'Remove the parameter named in details.',
  bad_cursor: 'Start the list again without a cursor.',
  digest_mismatch: 'Compute Content-Digest over the bytes that are sent.',
  signature_expired:
    'Compare your clock with the Date header of the response, then sign again. For five minutes after the ledger was restored from a backup, current timestamps are rejected: details contains the earliest accepted timestamp, and Retry-After the seconds until then.',
  signature_invalid:
    'Compare the text that you signed with the message in the signing guide, byte by byte.',
  body_signature_required: 'Sign the v2 partner message, which contains the hash of the body.',
  method_not_allowed: 'Use a method from the Allow header.',
  not_acceptable: 'Accept identity, gzip or br.',
  request_timeout: 'Send the complete request at once.',
  headers_too_large: 'Send fewer headers.',
  bound_reached: 'Read details: it names the quota and explains how to free capacity.',
  signature_reused: 'Use a new timestamp: a signed message is valid for one write.',
  request_in_progress: 'Wait for the first response, then repeat the request with the same key.',
  idempotency_key_reused: 'Use a new key for a new body.',
  unsupported_encoding: 'Send the body without Content-Encoding.',
  payment_malformed:
    'Send the base64 of the JSON of one payment, with numbers as plain decimal strings. Nothing was charged.',
  payment_required:
    'Pay as described in accepts or PAYMENT-REQUIRED, or subscribe to a tier that covers the read.',
  payment_off:
    'This installation does not accept payments at the moment. Partners can read what their tier includes.',
  payment_mismatch: 'Sign again for the terms of this response. Nothing was charged.',
  payment_expired: 'Sign again; compare your clock with the Date header. Nothing was charged.',
  payment_signature_invalid:
    'Sign the EIP-712 message of the terms with the key of the payer; extra contains its domain. Nothing was charged.',
  insufficient_funds: 'Transfer USDC on Base to the payer, then sign again. Nothing was charged.',
  payment_refused:
    'Read details: the token contract would reject the transfer. Nothing was charged.',
  authorization_already_used:
    'One authorization pays for one response. Sign a new authorization with a new nonce for the next response.',
  payment_buyer_unproven:
    'Sign the text in details with the paying wallet. Send the same payment again with this signature in X-Payer-Signature. Do not sign another payment: details states whether the transfer is already on-chain. If the wallet cannot sign texts, the operator can assign a subscription that was paid on-chain to its buyer.',
  payment_unavailable:
    'Send the same payment again after Retry-After. Do not sign another payment: the first one may still be settled.',
  settlement_pending:
    'Send the same payment again after Retry-After: the response is delivered once the payment is on-chain. Do not sign another payment.',
}
