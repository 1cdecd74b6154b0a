/** Response headers that do not depend on the request. */

/** What a script on another site may read (Fetch standard, CORS): everything a client needs of us. */
const exposed = [
  'Content-Length',
  'ETag',
  'X-Signature',
  'X-Signature-Key',
  'X-Request-Id',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'Deprecation',
  'Sunset',
  'Link',
  'X-Accepted-Payment',
  'X-Payment-Receiver',
  'X-Payment-Price-USDC',
  'PAYMENT-REQUIRED',
  'PAYMENT-RESPONSE',
  'X-PAYMENT-RESPONSE',
].join(', ')

/** Public to every origin, never with credentials: there are no cookies anywhere. */
export const corsHeaders = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': exposed,
} as const

/** Nothing that the API answers is ever a page. */
const dataPolicy = "default-src 'none'; frame-ancestors 'none'"
const imagePolicy = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
const pagePolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** On every answer that is not a document. */
export const apiHeaders = {
  ...corsHeaders,
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': dataPolicy,
} as const

/** What a browser may do with a document of this type. */
export function contentSecurityPolicy(contentType: string): string {
  if (contentType.startsWith('text/html')) return pagePolicy
  return contentType.startsWith('image/svg+xml') ? imagePolicy : dataPolicy
}

/** Answer to a CORS preflight of any API path. A day is what browsers cap it to at most. */
export const preflightHeaders = {
  ...corsHeaders,
  'Access-Control-Allow-Methods': 'GET, HEAD, POST, PATCH, DELETE, OPTIONS',
  'Access-Control-Allow-Headers': [
    'Authorization',
    'Content-Type',
    'Content-Digest',
    'Idempotency-Key',
    'If-None-Match',
    'MCP-Protocol-Version',
    'Mcp-Method',
    'Mcp-Name',
    'X-PAYMENT',
    'PAYMENT-SIGNATURE',
    // The official clients send this name in their request.
    'Access-Control-Expose-Headers',
    'X-Partner-Wallet',
    'X-Partner-Signature',
    'X-Partner-Timestamp',
  ].join(', '),
  'Access-Control-Max-Age': '86400',
} as const
