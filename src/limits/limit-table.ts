/**
 * Bounded memory for one number per key: a set-associative table over typed arrays, 12 bytes a slot,
 * laid out once. Larger numbers are hotter; a number up to the floor counts as an empty slot.
 */

/** Slots per key. Eight numbers are one cache line. */
const WAYS = 8
const TWO_32 = 0x1_0000_0000

export interface LimitTable {
  /** Returns `floor` if no greater value is stored. */
  readonly read: (key: number, floor: number) => number
  /**
   * Keeps a number for the key. Where all its slots are taken the coldest gives way, so a flood of
   * keys with one request each pushes out its own kind and never a key that is close to its limit.
   */
  readonly write: (key: number, value: number, floor: number) => void
  /** Every number above the floor, with a key that finds the same slots in a table of the same size. */
  readonly entries: (floor: number) => Iterable<readonly [key: number, value: number]>
  readonly slots: number
  readonly bytes: number
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
    bytes: tags.byteLength + values.byteLength,
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
      let coldest = start
      let coldestValue = Number.POSITIVE_INFINITY
      for (let slot = start; slot < start + WAYS; slot += 1) {
        const kept = values[slot] ?? floor
        if (tags[slot] === tag && kept > floor) {
          values[slot] = value
          return
        }
        if (kept < coldestValue) {
          coldest = slot
          coldestValue = kept
        }
      }
      tags[coldest] = tag
      values[coldest] = value
    },
  }
}
