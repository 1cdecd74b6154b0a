import type { Random } from './deps.ts'
import { bytesToHex } from './hex.ts'

/** `<prefix>_` and `length` random bytes in hex. */
export function newId(random: Pick<Random, 'bytes'>, prefix: string, length = 12): string {
  return `${prefix}_${bytesToHex(random.bytes(length))}`
}
