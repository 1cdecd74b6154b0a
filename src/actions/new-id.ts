import { bytesToHex } from '../core/hex.ts'
import type { Random } from '../deps.ts'

/** `<prefix>_` and 96 random bits in hex. */
export function newId(random: Pick<Random, 'bytes'>, prefix: string): string {
  return `${prefix}_${bytesToHex(random.bytes(12))}`
}
