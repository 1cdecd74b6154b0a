/** What no log of this program may hold, whatever a test makes it do. */

const secrets: Readonly<Record<string, RegExp>> = {
  'a signature of an EVM wallet': /0x[0-9a-f]{128}[0-9a-f]{2}/i,
  'an ed25519 signature': /ed25519:[A-Za-z0-9+/]{86}==/,
  'partner credentials': /Bearer [^\s:"]+:\w/,
  'a private key in PEM': /BEGIN (?:[A-Z]+ )?PRIVATE KEY/,
  'a payment': /eyJ4NDAyVmVyc2lvbiI6/,
  'a password in an address': /\w+:\/\/[^\s/:@"]+:(?!\[redacted\])[^\s/@"]+@/,
}

/** @throws Error that says what was found, and never shows it whole. */
export function expectNoSecrets(log: string): void {
  for (const [what, pattern] of Object.entries(secrets)) {
    const line = log.split('\n').find((candidate) => pattern.test(candidate))
    if (line === undefined) continue
    const at = line.search(pattern)
    throw new Error(`a log line holds ${what}: ${line.slice(Math.max(0, at - 120), at + 12)}…`)
  }
}
