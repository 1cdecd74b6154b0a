/** Checks the text of URLs from callers; `src/outbound/pinned-fetch.ts` checks the addresses to which their hosts resolve. */

export type OutboundUrl =
  | { readonly ok: true; readonly url: URL }
  | { readonly ok: false; readonly problem: string }

const MAX_LENGTH = 2048
const MAX_HOST_LENGTH = 253

/** https, an ASCII host, optional `:443`, path or query in visible ASCII. */
const PLAIN = /^https:\/\/([a-z0-9.-]{1,253})(?::443)?(?:[/?][\x21-\x7e]*)?$/i
const LABEL = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/

/** Names of this machine or a local network (RFC 6761, 6762, 8375, 9476 and common use). */
const localSuffixes = [
  'alt',
  'arpa',
  'corp',
  'home',
  'internal',
  'intranet',
  'invalid',
  'lan',
  'local',
  'localdomain',
  'localhost',
  'onion',
  'private',
] as const

export function checkOutboundUrl(text: string): OutboundUrl {
  const problem = problemOf(text)
  if (problem !== null) return { ok: false, problem }
  return { ok: true, url: new URL(text) }
}

function problemOf(text: string): string | null {
  if (text.length > MAX_LENGTH) return `is longer than ${MAX_LENGTH} characters`
  if (!/^https:\/\//i.test(text)) return 'must begin with https://'
  if (/[#\\]/.test(text)) return 'must have no fragment and no backslash'
  if (/^https:\/\/[^/?]*@/i.test(text)) return 'must have no user name or password'
  const host = PLAIN.exec(text)?.[1]?.toLowerCase()
  if (host === undefined) {
    return 'must have a host name of letters, digits, hyphens and dots, use port 443 and contain only visible ASCII'
  }
  if (!URL.canParse(text)) return 'is not a valid URL'
  // The parser rewrites numeric hosts such as `0x7f.1` to an IP address.
  if (new URL(text).hostname !== host) return 'must have the host name in normal form'
  return hostProblem(host)
}

function hostProblem(host: string): string | null {
  const labels = host.split('.')
  const [last = ''] = labels.slice(-1)
  if (host.length > MAX_HOST_LENGTH || !labels.every((label) => LABEL.test(label))) {
    return 'must have a host name with labels of 1 to 63 letters, digits and hyphens'
  }
  if (labels.length < 2) return 'must have a host name with a dot'
  if (/^(?:\d+|0x[0-9a-f]*)$/.test(last)) return 'must have a host name, not an IP address'
  if (localSuffixes.some((suffix) => suffix === last)) return 'must have a public host name'
  return null
}
