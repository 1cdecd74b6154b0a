import type { ClientFingerprint } from '../actions/client-fingerprint.ts'
import { isIpv4, networkWords } from '../limits/network-key.ts'

/** Treats an IPv6 /64 as one client, since one client can use all its addresses. */
export function fingerprintOf(sent: {
  readonly address: string
  readonly userAgent: string
}): ClientFingerprint {
  const { address, userAgent } = sent
  const words = networkWords(address)
  if (words === null) return { network: 'unknown', range: null, userAgent }
  const [first, second] = words
  const range = isIpv4(words) ? null : `${first}.${second >>> 16}`
  return { network: words.join('.'), range, userAgent }
}
