import type { Random } from '../core/deps.ts'
import { bytesToHex } from '../core/hex.ts'

/** `<prefix>_` and 96 random bits in hex. */
export function newId(random: Pick<Random, 'bytes'>, prefix: string): string {
  return `${prefix}_${bytesToHex(random.bytes(12))}`
}
