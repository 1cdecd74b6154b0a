/**
 * Takes out of a text what must not be shown in public: `poll_error`, notes and logs quote what others wrote, and
 * addresses of providers carry keys in the user part, the path or the query.
 */

/** Longest text that is shown. */
export const maxRedactedLength = 300

/** Longest text that is read: what goes on behind is left out, and that it did is shown. */
export const maxReadLength = 16_384
/** Before the cut the text is let end at a space, where there is one so near: half a secret would not be known. */
const cutBackLength = 1024

const hidden = '[redacted]'

/**
 * Every pattern is linear: it reads without a bound only in its last part, so that what it has read is also
 * taken, and a failed try costs no more than its bounded parts. Addresses, which need more, are not read by patterns.
 */
export const patterns: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/\b(bearer|basic|digest|negotiate)\s{1,32}[\w.~+/=-]{4,}/gi, `$1 ${hidden}`],
  [
    /\b((?:api|access|auth|private|secret|session|client)?[-_ ]?(?:key|token|secret|password|passwd|authorization))(["']?\s{0,32}[:=]\s{0,32}["']?)(?!\[redacted\]|bearer |basic )[^\s"',;&}]+/gi,
    `$1$2${hidden}`,
  ],
  [/\b(?:sk|pk|rk|api|key|token|secret|ghp|gho|xox[abp])[-_][\w-]{8,}/gi, hidden],
  [/\beyJ[\w-]{8}[\w.-]*/g, hidden],
  [/\b(?:0x)?[0-9a-f]{32}\w*/gi, hidden],
]

// oxlint-disable-next-line no-control-regex -- control characters are what is removed
const controls = /[\u0000-\u001F\u007F-\u009F\u2028\u2029]+/g
/** What an address can stand in. */
const run = /[^\s"'<>]+/g
const scheme = /\b[a-z][a-z0-9+.-]{1,20}:$/i
const schemeLength = 22
/** Letters and digits in one long run: base64, base58 or a provider's key. A UUID names a thing and is no secret. */
const longToken = /[A-Za-z0-9_-]{24,}(?:={1,2}(?![\w=]))?/g
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/**
 * The text without user parts and query strings of addresses, without bearer tokens, named keys, and long hex or
 * base64 runs; one line, at most 300 characters. Applying it twice changes nothing. The first 16 KiB are read.
 */
export function redact(text: string): string {
  // Control characters first, so that none of them can split a secret that a later rule would know.
  let clean = start(text).replaceAll(controls, ' ').replaceAll(run, withoutSecretParts)
  for (const [pattern, replacement] of patterns) clean = clean.replaceAll(pattern, replacement)
  clean = clean.replaceAll(longToken, (token) => (isSecret(token) ? hidden : token)).trim()
  const isWhole = text.length <= maxReadLength && clean.length <= maxRedactedLength
  return isWhole ? clean : `${cut(clean, maxRedactedLength - 1)}…`
}

/** What is read of a text. */
function start(text: string): string {
  if (text.length <= maxReadLength) return text
  const read = text.slice(0, maxReadLength)
  const space = read.lastIndexOf(' ')
  return space > maxReadLength - cutBackLength ? read.slice(0, space) : read
}

/** User part and query of the addresses in a run without spaces. Each part between slashes is read once. */
function withoutSecretParts(text: string): string {
  const parts = text.split('/')
  const lastAssignment = text.lastIndexOf('=')
  const shown: string[] = []
  let isAddress = false
  let offset = 0
  for (const [index, part] of parts.entries()) {
    const isHost = index > 1 && parts[index - 1] === '' && endsInScheme(parts[index - 2] ?? '')
    isAddress ||= isHost
    const mark = part.search(/[?#]/)
    const from = isHost ? part.lastIndexOf('@', mark === -1 ? part.length : mark) + 1 : 0
    const isQuery = index > 0 && part[mark] === '?' && lastAssignment > offset + mark
    if (mark !== -1 && (isAddress || isQuery)) {
      return [...shown, part.slice(from, mark)].join('/')
    }
    shown.push(part.slice(from))
    offset += part.length + 1
  }
  return shown.join('/')
}

/** Only its last characters can be one. */
function endsInScheme(text: string): boolean {
  return scheme.test(text.slice(-schemeLength))
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
