/** Finds secrets in logs. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** None of these forms fits a hash or a transaction. Base58 of 64 bytes has 86 to 88 digits. */
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

/** Registers a key of 32 bytes, which is found in hex and in base64. */
export function neverLogKey(key: Uint8Array): void {
  keys.add(Buffer.from(key).toString('hex'))
}

/** Registers a password. @throws Error if it is too short to be distinguished from other words */
export function neverLogPassword(password: string): void {
  if (password.length < 8) throw new Error('too short to be searched for')
  passwords.add(password)
}

/** Registers the secrets in the settings of a process and in its data folder. */
export function neverLogSecretsOf(env: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(env)) {
    const isAddress = name.endsWith('_URL') && URL.canParse(value)
    const password = isAddress ? decodeURIComponent(new URL(value).password) : ''
    if (password !== '') neverLogPassword(password)
    if (name === 'S3_SECRET_ACCESS_KEY') neverLogPassword(value)
  }
  for (const folder of ['keys', 'secrets']) {
    const dir = join(env['DATA_DIR'] ?? '/nowhere', folder)
    for (const bytes of filesIn(dir)) {
      if (bytes.length === 32) neverLogKey(bytes)
      const der = /-----\s([\w+/=\s]+)-----END/.exec(bytes.toString('latin1'))?.[1]
      // The key is the last 32 bytes of PKCS #8 (RFC 8410, section 7).
      if (der !== undefined) neverLogKey(Buffer.from(der, 'base64').subarray(-32))
    }
  }
}

/** Empty if the folder does not exist. */
function filesIn(dir: string): readonly Buffer[] {
  try {
    return readdirSync(dir).map((name) => readFileSync(join(dir, name)))
  } catch {
    return []
  }
}

/** @throws Error that names the kind of secret and shows only its first characters */
export function expectNoSecrets(log: string): void {
  const found = secretIn(log) ?? encodedSecretIn(log)
  if (found === null) return
  const { what, at } = found
  throw new Error(`a log line contains ${what}: ${log.slice(Math.max(0, at - 120), at + 12)}…`)
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

/** Members of a payment have any order, so its base64 is decoded; the signatures in it have a known form. */
function encodedSecretIn(log: string): Found | null {
  for (const { 0: text, index } of log.matchAll(/[A-Za-z0-9+/_-]{160,}/g)) {
    // Other base64 characters may precede the payment.
    for (const shift of [0, 1, 2, 3]) {
      const found = secretIn(Buffer.from(text.slice(shift), 'base64').toString('latin1'))
      if (found !== null) return { what: `${found.what} in base64`, at: index }
    }
  }
  return null
}
