import type { OpenApiObject } from './json.ts'

const textHeader = (description: string, maxLength = 200): OpenApiObject => ({
  description,
  schema: { type: 'string', maxLength },
})

export const signatureHeaders: OpenApiObject = {
  'X-Signature': textHeader('`ed25519:` and the base64 signature over the bytes of the body.'),
  'X-Signature-Key': textHeader('`kid` of the key in /.well-known/signing-keys.json.'),
}

export const documentHeaders: OpenApiObject = {
  'Cache-Control': textHeader('`public` with the max-age of this document.'),
  ETag: textHeader('Strong validator of the bytes.'),
  'Last-Modified': textHeader('Time of the last change of the facts in this document.'),
  ...signatureHeaders,
}

export const challengeHeaders: OpenApiObject = {
  'WWW-Authenticate': textHeader('`Bearer`.'),
}

export const priceHeaders: OpenApiObject = {
  'X-Accepted-Payment': textHeader('`x402`.'),
  'X-Payment-Receiver': textHeader(
    'The receiving address; all zeros if none is configured, since USDC refuses transfers to it.',
  ),
  'X-Payment-Price-USDC': textHeader('The price as a decimal.'),
  'PAYMENT-REQUIRED': textHeader(
    'Base64 of the challenge of x402 version 2; missing if payment is not available.',
    8192,
  ),
}

export const settledHeaders: OpenApiObject = {
  'PAYMENT-RESPONSE': textHeader('After a payment: base64 of the settlement.', 4096),
  'X-PAYMENT-RESPONSE': textHeader(
    'The same settlement under the header name of x402 version 1.',
    4096,
  ),
}

const retryAfter = (description: string): OpenApiObject => ({
  description,
  schema: { type: 'integer', format: 'int32', minimum: 1, maximum: 86400 },
})

export const retryHeaders: OpenApiObject = { 'Retry-After': retryAfter('Whole seconds.') }

export const restoredHeaders: OpenApiObject = {
  'Retry-After': retryAfter(
    'Whole seconds. Present only after the ledger was restored from a backup, until it accepts current signed writes again.',
  ),
}
