import { bytesToHex } from './hex.ts'

/**
 * All 14 encodings of the 8 points of small order on edwards25519 (C2SP/CCTV, `ed25519/README.md`). Under such a key
 * one signature fits every message.
 */
export const SMALL_ORDER_ENCODINGS: ReadonlySet<string> = new Set([
  '0000000000000000000000000000000000000000000000000000000000000000',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  '0000000000000000000000000000000000000000000000000000000000000080',
  'edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000080',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
])

/**
 * True where 32 bytes may be an ed25519 key or the R of a signature: y is below p = 2^255-19 (RFC 8032 section 5.1.3)
 * and the order is not small. Whether the point is on the curve is left to the signature check.
 */
export function isUsablePoint(encoded: Uint8Array): boolean {
  return (
    encoded.length === 32 &&
    hasCanonicalY(encoded) &&
    !SMALL_ORDER_ENCODINGS.has(bytesToHex(encoded))
  )
}

/** y is little-endian with the sign of x in the top bit; p is ed ff … ff 7f. */
function hasCanonicalY(encoded: Uint8Array): boolean {
  if (((encoded[31] ?? 0) & 0x7f) !== 0x7f) return true
  for (let index = 30; index >= 1; index -= 1) if (encoded[index] !== 0xff) return true
  return (encoded[0] ?? 0) < 0xed
}
