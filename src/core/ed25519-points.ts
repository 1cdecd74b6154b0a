import { bytesToHex } from './hex.ts'

/** All 14 encodings of the 8 small-order points (C2SP/CCTV). With such a key, one signature fits all messages. */
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

/** Rejects a non-canonical y (RFC 8032 section 5.1.3) and small order. Does not check membership of the curve. */
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
