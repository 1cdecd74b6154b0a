/** Counts of a day as bytes: the size of the table, the day, then table position, tag and count of each key. */
import type { LimitTable } from './limit-table.ts'

const HEADER_BYTES = 12
const ENTRY_BYTES = 12
const TWO_32 = 0x1_0000_0000

export function packCounts(table: LimitTable, floor: number): Buffer {
  const entries = [...table.entries(floor)]
  const bytes = Buffer.alloc(HEADER_BYTES + entries.length * ENTRY_BYTES)
  bytes.writeUInt32LE(table.slots, 0)
  bytes.writeDoubleLE(floor, 4)
  for (const [index, [key, value]] of entries.entries()) {
    const at = HEADER_BYTES + index * ENTRY_BYTES
    bytes.writeUInt32LE(Math.floor(key / TWO_32), at)
    bytes.writeUInt32LE(key % TWO_32, at + 4)
    bytes.writeUInt32LE(value - floor, at + 8)
  }
  return bytes
}

export function* unpackCounts(
  saved: Uint8Array,
  slots: number,
  floor: number,
): Iterable<readonly [key: number, value: number]> {
  const bytes = Buffer.from(saved.buffer, saved.byteOffset, saved.byteLength)
  const isWhole = bytes.length >= HEADER_BYTES && (bytes.length - HEADER_BYTES) % ENTRY_BYTES === 0
  if (!isWhole || bytes.readUInt32LE(0) !== slots || bytes.readDoubleLE(4) !== floor) return
  for (let at = HEADER_BYTES; at < bytes.length; at += ENTRY_BYTES) {
    const key = bytes.readUInt32LE(at) * TWO_32 + bytes.readUInt32LE(at + 4)
    yield [key, floor + bytes.readUInt32LE(at + 8)]
  }
}
