/**
 * Takes out of a text what must not be shown in public: `poll_error`, notes and logs quote what others wrote, and
 * addresses of providers carry keys in the user part, the path or the query.
 */

/** Longest text that is shown. */
export const maxRedactedLength = 300

const hidden = '[redacted]'

const rules: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  // Control characters first, so that none of them can split a secret that a later rule would know.
  // oxlint-disable-next-line no-control-regex -- control characters are what is removed
  [/[\u0000-\u001F\u007F-\u009F\u2028\u2029]+/g, ' '],
  [/\b([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/?#"'<>]*@/gi, '$1'],
  [/\b([a-z][a-z0-9+.-]{1,20}:\/\/[^\s?#"'<>]*)[?#][^\s"'<>]*/gi, '$1'],
  [/(\/[^\s?#"'<>]*)\?[^\s"'<>]*=[^\s"'<>]*/g, '$1'],
  [/\b(bearer|basic|digest|negotiate)\s+[\w.~+/=-]{4,}/gi, `$1 ${hidden}`],
  [
    /\b((?:api|access|auth|private|secret|session|client)?[-_ ]?(?:key|token|secret|password|passwd|authorization))(["']?\s*[:=]\s*["']?)(?!\[redacted\]|bearer |basic )[^\s"',;&}]+/gi,
    `$1$2${hidden}`,
  ],
  [/\b(?:sk|pk|rk|api|key|token|secret|ghp|gho|xox[abp])[-_][\w-]{8,}/gi, hidden],
  [/\beyJ[\w-]{8,}(?:\.[\w-]+)*/g, hidden],
  [/\b(?:0x)?[0-9a-f]{32,}\b/gi, hidden],
]

/** Letters and digits in one long run: base64, base58 or a provider's key. A UUID names a thing and is no secret. */
const longToken = /[A-Za-z0-9_-]{24,}(?:={1,2}(?![\w=]))?/g
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * The text without user parts and query strings of addresses, without bearer tokens, named keys, and long hex or
 * base64 runs; one line, at most 300 characters. Applying it twice changes nothing.
 */
export function redact(text: string): string {
  let clean = text
  for (const [pattern, replacement] of rules) clean = clean.replaceAll(pattern, replacement)
  clean = clean.replaceAll(longToken, (token) => (isSecret(token) ? hidden : token)).trim()
  return clean.length <= maxRedactedLength ? clean : `${cut(clean, maxRedactedLength - 1)}…`
}

/** The text with paths of this machine cut to their last part: what is public names no directory. */
export function withoutDirectories(text: string): string {
  return text.replaceAll(/(^|[\s'"`(=:,])\/(?:[^\s/'"`]+\/)+/g, '$1')
}

function isSecret(token: string): boolean {
  return !uuid.test(token) && /\d/.test(token) && /[A-Za-z]/.test(token)
}

/** Cuts between characters, never inside a surrogate pair. */
function cut(text: string, length: number): string {
  const last = text.charCodeAt(length - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length).trimEnd()
}
