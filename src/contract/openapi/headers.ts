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

const paymentHeader = (name: string, version: number): OpenApiObject => ({
  name,
  in: 'header',
  required: false,
  description: `Base64 of the JSON of an x402 payment. This is the header name of version ${version}; both headers accept both versions.`,
  schema: { type: 'string', maxLength: 8192, pattern: '^[A-Za-z0-9+/]+={0,2}$' },
})

export const paymentHeaders = [
  paymentHeader('PAYMENT-SIGNATURE', 2),
  paymentHeader('X-PAYMENT', 1),
  {
    name: 'X-Payer-Signature',
    in: 'header',
    required: false,
    description:
      'The signature (EIP-191) of the wallet that pays over `<service>-payment-v1:<handle>` for a subscription that another wallet requests, or over `<service>-payment-v1:<nonce of the payment>` after `payment_buyer_unproven` for a read.',
    schema: { type: 'string', maxLength: 4098, pattern: '^0x([0-9a-fA-F]{2})+$' },
  },
]

export const partnerTimestamp: OpenApiObject = {
  name: 'X-Partner-Timestamp',
  in: 'header',
  required: false,
  description:
    'The signed time: Unix seconds (10 digits) or milliseconds (13 digits), within five minutes. Default: the `Date` header in Unix seconds.',
  schema: { type: 'string', pattern: '^([1-9][0-9]{9}|[1-9][0-9]{12})$', maxLength: 13 },
  example: '1795240000000',
}

export const idempotencyKey: OpenApiObject = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'For 24 hours, the same key with the same body returns the first result. The same key with another body returns 422.',
  schema: { type: 'string', minLength: 1, maxLength: 257 },
  example: '8e03978e-40d5-43e8-bc93-6894a57f9324',
}

export const contentDigest: OpenApiObject = {
  name: 'Content-Digest',
  in: 'header',
  required: false,
  description: 'RFC 9530. Verified if present: `sha-256` or `sha-512` of the raw body.',
  schema: { type: 'string', maxLength: 500 },
}
