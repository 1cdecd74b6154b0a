const ALPHABET = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** Decodes exactly `length` bytes, or returns null. Each value has one spelling: a leading `1` is a zero byte. */
export function decodeBase58(text: string, length: number): Uint8Array | null {
  // A byte takes at most log(256)/log(58) = 1.366 digits.
  if (text.length < length || text.length > Math.ceil(length * 1.366)) return null
  const bytes = new Uint8Array(length)
  let used = 0
  let zeros = 0
  for (const character of text) {
    let carry = ALPHABET.indexOf(character)
    if (carry === -1) return null
    if (carry === 0 && used === 0) zeros += 1
    for (let index = 0; index < used || carry > 0; index += 1) {
      if (index >= length) return null
      carry += (bytes[length - 1 - index] ?? 0) * 58
      bytes[length - 1 - index] = carry & 0xff
      carry >>= 8
      if (index >= used) used = index + 1
    }
  }
  return zeros + used === length ? bytes : null
}

export function encodeBase58(bytes: Uint8Array): string {
  const digits: number[] = []
  let zeros = 0
  for (const byte of bytes) {
    if (byte === 0 && digits.length === 0) zeros += 1
    let carry = byte
    for (let index = 0; index < digits.length || carry > 0; index += 1) {
      carry += (digits[index] ?? 0) * 256
      digits[index] = carry % 58
      carry = Math.floor(carry / 58)
    }
  }
  return (
    '1'.repeat(zeros) +
    digits
      .reverse()
      .map((digit) => ALPHABET.charAt(digit))
      .join('')
  )
}
