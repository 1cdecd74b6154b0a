import { markdownPath } from '../pages/page.ts'
import { METHODS } from './gate.ts'

/** Response headers that scripts on other sites may read (Fetch standard, CORS). */
const exposed = [
  'Content-Length',
  'ETag',
  'X-Signature',
  'X-Signature-Key',
  'X-Request-Id',
  'X-Demo',
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

export const corsHeaders = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': exposed,
} as const

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

export const apiHeaders = {
  ...corsHeaders,
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': dataPolicy,
} as const

/** Restrictions for browsers that show a body of this type. */
export function policyHeaders(contentType: string): Readonly<Record<string, string>> {
  if (contentType.startsWith('text/html')) return pageHeaders
  const isImage = contentType.startsWith('image/svg+xml')
  return { 'Content-Security-Policy': isImage ? imagePolicy : dataPolicy }
}

const pageHeaders = {
  'Content-Security-Policy': pagePolicy,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
  'Referrer-Policy': 'same-origin',
}

/** Sends a client that prefers Markdown to that form of a page. Not stored: most caches ignore `Vary: Accept`. */
export function seeMarkdown(path: string): Record<string, string> {
  const location = markdownPath(path)
  return { ...corsHeaders, Location: location, 'Cache-Control': 'no-store', Vary: 'Accept' }
}

export const preflightHeaders = {
  ...corsHeaders,
  'Access-Control-Allow-Methods': METHODS.join(', '),
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
    'X-Payer-Signature',
    // A response header, but the official x402 clients send it in requests.
    'Access-Control-Expose-Headers',
    'X-Partner-Wallet',
    'X-Partner-Signature',
    'X-Partner-Timestamp',
  ].join(', '),
  // One day, the longest that browsers allow.
  'Access-Control-Max-Age': '86400',
} as const
