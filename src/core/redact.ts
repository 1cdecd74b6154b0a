/** Removes secrets from text that becomes public, such as errors of providers whose URLs contain keys. */

export const maxRedactedLength = 300

export const maxReadLength = 16_384
/** A text is cut at the last space within this distance of the limit, so that no secret is split. */
const cutBackLength = 1024

const hidden = '[redacted]'

/** Each pattern runs in linear time, since only its last part is unbounded. URLs are parsed by hand. */
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

// oxlint-disable-next-line no-control-regex -- control characters are removed
const controls = /[\u0000-\u001F\u007F-\u009F\u2028\u2029]+/g
const run = /[^\s"'<>]+/g
const scheme = /\b[a-z][a-z0-9+.-]{1,20}:$/i
const schemeLength = 22
/** Matches possible keys and other base64 or base58 text. UUIDs are not secrets. */
const longToken = /[A-Za-z0-9_-]{24,}(?:={1,2}(?![\w=]))?/g
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Removes secrets from up to 16 KiB of text. Returns one line of at most 300 characters; idempotent. */
export function redact(text: string): string {
  let clean = start(text).replaceAll(controls, ' ').replaceAll(run, withoutSecretParts)
  for (const [pattern, replacement] of patterns) clean = clean.replaceAll(pattern, replacement)
  clean = clean.replaceAll(longToken, (token) => (isSecret(token) ? hidden : token)).trim()
  const isWhole = text.length <= maxReadLength && clean.length <= maxRedactedLength
  return isWhole ? clean : `${cut(clean, maxRedactedLength - 1)}…`
}

function start(text: string): string {
  if (text.length <= maxReadLength) return text
  const read = text.slice(0, maxReadLength)
  const space = read.lastIndexOf(' ')
  return space > maxReadLength - cutBackLength ? read.slice(0, space) : read
}

/** Drops credentials and queries of URLs, reading each part between slashes once. */
function withoutSecretParts(text: string): string {
  const parts = text.split('/')
  const lastAssignment = text.lastIndexOf('=')
  const shown: string[] = []
  let isAddress = false
  let offset = 0
  for (const [index, part] of parts.entries()) {
    const isHost =
      index > 1 &&
      parts[index - 1] === '' &&
      scheme.test((parts[index - 2] ?? '').slice(-schemeLength))
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

export function withoutDirectories(text: string): string {
  return text.replaceAll(/(^|[\s'"`(=:,])\/(?:[^\s/'"`]+\/)+/g, '$1')
}

function isSecret(token: string): boolean {
  return !uuid.test(token) && /\d/.test(token) && /[A-Za-z]/.test(token)
}

/** Never cuts a surrogate pair. */
function cut(text: string, length: number): string {
  const last = text.charCodeAt(length - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length).trimEnd()
}
