/**
 * What no log of this program may hold, whatever a test makes it do. Signatures, credentials and payments are known by
 * their form. A private key or a password has none (32 bytes in hex may as well be a hash), so those that tests work
 * with are known by their value.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Of forms that are no hash's and no transaction's; a base58 text is of 64 bytes where it has 86 to 88 digits. */
const forms: Readonly<Record<string, RegExp>> = {
  'partner credentials': /Bearer [^\s:"]+:\w/,
  'a signature of an EVM wallet': /0x[0-9a-f]{128}[0-9a-f]{2}/i,
  'an ed25519 signature in base64': /(?<![A-Za-z0-9+/]|sha512-)[A-Za-z0-9+/]{86}==/,
  'an ed25519 signature in hex': /(?<![0-9a-z])[0-9a-f]{128}(?![0-9a-z])/i,
  'an ed25519 signature in base58': /(?<![\w+/-])[1-9A-HJ-NP-Za-km-z]{86,88}(?![\w+/=-])/,
  'a private key in PEM': /BEGIN (?:[A-Z]+ )?PRIVATE KEY/,
  'an ed25519 private key in DER': /MC4CAQAwBQYDK2VwBCIEI/,
  'the secret of a webhook': /whsec_[A-Za-z0-9+/]{20}/,
  'a payment': /eyJ4NDAyVmVyc2lvbiI6/,
  'a password in an address': /\w+:\/\/[^\s/:@"]+:(?!\[redacted\])[^\s/@"]+@/,
}

const keys = new Set<string>()
const passwords = new Set<string>()

/** From now on no log may hold these 32 bytes, in hex or base64. */
export function neverLogKey(key: Uint8Array): void {
  keys.add(Buffer.from(key).toString('hex'))
}

/** From now on no log may hold this text. @throws Error for one that other words may contain. */
export function neverLogPassword(password: string): void {
  if (password.length < 8) throw new Error('too short to be searched for')
  passwords.add(password)
}

/** What a process is given, or has made in its folders, that it may tell nobody. */
export function neverLogSecretsOf(env: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(env)) {
    const isAddress = name.endsWith('_URL') && URL.canParse(value)
    const password = isAddress ? decodeURIComponent(new URL(value).password) : ''
    if (password !== '') neverLogPassword(password)
  }
  for (const folder of ['keys', 'secrets']) {
    const dir = join(env['DATA_DIR'] ?? '/nowhere', folder)
    for (const bytes of filesIn(dir)) {
      if (bytes.length === 32) neverLogKey(bytes)
      const der = /-----\s([\w+/=\s]+)-----END/.exec(bytes.toString('latin1'))?.[1]
      // An ed25519 key is the last of its PKCS #8 form (RFC 8410, 7).
      if (der !== undefined) neverLogKey(Buffer.from(der, 'base64').subarray(-32))
    }
  }
}

/** None where there is no folder, or where the test has taken it away. */
function filesIn(dir: string): readonly Buffer[] {
  try {
    return readdirSync(dir).map((name) => readFileSync(join(dir, name)))
  } catch {
    return []
  }
}

/** @throws Error that says what was found, and never shows it whole. */
export function expectNoSecrets(log: string): void {
  const found = secretIn(log) ?? encodedSecretIn(log)
  if (found === null) return
  const { what, at } = found
  throw new Error(`a log line holds ${what}: ${log.slice(Math.max(0, at - 120), at + 12)}…`)
}

interface Found {
  readonly what: string
  readonly at: number
}

function secretIn(log: string): Found | null {
  for (const [what, form] of Object.entries(forms)) {
    const at = log.search(form)
    if (at !== -1) return { what, at }
  }
  for (const { 0: text, index } of log.matchAll(/(?<![0-9a-f])(?:0x)?[0-9a-f]{64}(?![0-9a-f])/gi)) {
    if (keys.has(text.slice(-64).toLowerCase())) return { what: 'a private key', at: index }
  }
  for (const { 0: text, index } of log.matchAll(/(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{43}=/g)) {
    const isKey = keys.has(Buffer.from(text, 'base64').toString('hex'))
    if (isKey) return { what: 'a private key', at: index }
  }
  for (const password of passwords) {
    const at = log.indexOf(password)
    if (at !== -1) return { what: 'a password', at }
  }
  return null
}

/** A payment may begin with any of its members; what is signed in it has a form again once base64 is undone. */
function encodedSecretIn(log: string): Found | null {
  for (const { 0: text, index } of log.matchAll(/[A-Za-z0-9+/_-]{160,}/g)) {
    // What stands before it may run into it.
    for (const shift of [0, 1, 2, 3]) {
      const found = secretIn(Buffer.from(text.slice(shift), 'base64').toString('latin1'))
      if (found !== null) return { what: `${found.what} in base64`, at: index }
    }
  }
  return null
}
