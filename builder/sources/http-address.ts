/** What may be said of an address in public, and where a redirect may lead. */
import { SourceError } from './http.ts'

/** Host and path of an address, without query, user part or fragment; the host alone where the path holds a key. */
export function addressOf(url: string, secretPath = false): string {
  if (!URL.canParse(url)) return 'an address that is no URL'
  const { host, pathname } = new URL(url)
  return secretPath ? host : `${host}${pathname}`
}

/**
 * Where a redirect leads, or a `SourceError`: it may go to the same host, or from https to https to a host of the
 * same family (one is the other with labels in front), never to a user part, another port or plain http.
 */
export function redirectTarget(from: URL, location: string | null): URL {
  if (location === null || !URL.canParse(location, from.href)) {
    throw new SourceError('redirects to no address')
  }
  const to = new URL(location, from.href)
  const refused = `redirects to ${to.protocol}//${to.host}, which is not followed`
  if (to.username !== '' || to.password !== '') throw new SourceError(refused)
  if (to.origin === from.origin) return to
  const secure = from.protocol === 'https:' && to.protocol === 'https:'
  if (!secure || to.port !== from.port || !sameFamily(from.hostname, to.hostname)) {
    throw new SourceError(refused)
  }
  return to
}

/** `superteam.fun`, `www.superteam.fun` and `earn.superteam.fun` are one family; a bare suffix is none. */
function sameFamily(one: string, other: string): boolean {
  const [a, b] = [one.replace(/^www\./, ''), other.replace(/^www\./, '')]
  if (a === b) return true
  const shorter = a.length < b.length ? a : b
  return shorter.includes('.') && (a.endsWith(`.${b}`) || b.endsWith(`.${a}`))
}
