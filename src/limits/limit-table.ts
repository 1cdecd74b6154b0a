/** One number per key in constant memory: a set-associative table over typed arrays. Numbers up to `floor` are absent. */

/** Slots per key. Eight numbers are one cache line. */
const WAYS = 8
const TWO_32 = 0x1_0000_0000

export interface LimitTable {
  readonly read: (key: number, floor: number) => number
  /** Replaces the smallest number if all slots of the key are used, so many new keys evict no key near its limit. */
  readonly write: (key: number, value: number, floor: number) => void
  /** Returns the numbers above the floor. A returned key selects the slots of its original in a table of the same size. */
  readonly entries: (floor: number) => Iterable<readonly [key: number, value: number]>
  readonly slots: number
}

/** `slots` is a power of two, at most 2^24. Keys are hashes: whole numbers below 2^53. */
export function createLimitTable(slots: number): LimitTable {
  const sets = slots / WAYS
  if (!Number.isInteger(Math.log2(sets)) || slots > 2 ** 24) {
    throw new Error(`a limit table cannot have ${slots} slots`)
  }
  const tags = new Uint32Array(slots)
  const values = new Float64Array(slots)
  const firstSlot = (key: number): number => (Math.floor(key / TWO_32) & (sets - 1)) * WAYS

  return {
    slots,
    *entries(floor) {
      for (let slot = 0; slot < slots; slot += 1) {
        const value = values[slot] ?? floor
        if (value > floor) yield [Math.floor(slot / WAYS) * TWO_32 + (tags[slot] ?? 0), value]
      }
    },
    read(key, floor) {
      const tag = key >>> 0
      const start = firstSlot(key)
      for (let slot = start; slot < start + WAYS; slot += 1) {
        const value = values[slot] ?? floor
        if (tags[slot] === tag && value > floor) return value
      }
      return floor
    },
    write(key, value, floor) {
      const tag = key >>> 0
      const start = firstSlot(key)
      let victim = start
      let smallest = Number.POSITIVE_INFINITY
      for (let slot = start; slot < start + WAYS; slot += 1) {
        const stored = values[slot] ?? floor
        if (tags[slot] === tag && stored > floor) {
          values[slot] = value
          return
        }
        if (stored < smallest) {
          victim = slot
          smallest = stored
        }
      }
      tags[victim] = tag
      values[victim] = value
    },
  }
}

const HEADER_BYTES = 12
const ENTRY_BYTES = 12

/** Counts of a day as bytes: the size of the table, the day, then table position, tag and count of each key. */
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
