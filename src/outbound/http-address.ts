import { SourceError } from './http.ts'

/** Returns host and path of a URL, without query, credentials and fragment. */
export function displayAddress(url: string): string {
  const host = hostOf(url)
  return URL.canParse(url) ? `${host}${new URL(url).pathname}` : host
}

/** Returns only `host:port`, for URLs whose path or query may contain a key. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : 'an invalid URL'
}

/** Allows the same origin, and from https to https the same host with more or fewer labels in front. */
export function redirectTarget(from: URL, location: string | null): URL {
  if (location === null || !URL.canParse(location, from.href)) {
    throw new SourceError('redirects to an invalid URL')
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

/** `superteam.fun`, `www.superteam.fun` and `earn.superteam.fun` are one family; a bare suffix such as `fun` is not. */
function sameFamily(one: string, other: string): boolean {
  const [a, b] = [one.replace(/^www\./, ''), other.replace(/^www\./, '')]
  if (a === b) return true
  const shorter = a.length < b.length ? a : b
  return shorter.includes('.') && (a.endsWith(`.${b}`) || b.endsWith(`.${a}`))
}
