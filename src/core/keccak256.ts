/**
 * Keccak-256 as Ethereum has it (the padding before SHA-3 was standardised), over 32-bit halves:
 * no engine has 64-bit integers that are fast, and OpenSSL has no Keccak. About 5 µs a block.
 */
export function keccak256(message: Uint8Array): Uint8Array {
  // Word 2i holds the low half of lane i, word 2i+1 the high half.
  const state = new Int32Array(50)
  const padded = new Uint8Array((Math.floor(message.length / RATE_BYTES) + 1) * RATE_BYTES)
  padded.set(message)
  padded[message.length] = 0x01
  padded[padded.length - 1] = (padded[padded.length - 1] ?? 0) | 0x80
  const words = new DataView(padded.buffer)
  for (let block = 0; block < padded.length; block += RATE_BYTES) {
    for (let word = 0; word < RATE_BYTES / 4; word += 1) {
      state[word] = at(state, word) ^ words.getInt32(block + word * 4, true)
    }
    permute(state)
  }
  const digest = new DataView(new ArrayBuffer(32))
  for (let word = 0; word < 8; word += 1) digest.setInt32(word * 4, at(state, word), true)
  return new Uint8Array(digest.buffer)
}

const RATE_BYTES = 136

// FIPS 202 section 3.2.5: the round constants, split into halves.
const ROUND_HIGH = Int32Array.of(
  0x00000000,
  0x00000000,
  0x80000000,
  0x80000000,
  0x00000000,
  0x00000000,
  0x80000000,
  0x80000000,
  0x00000000,
  0x00000000,
  0x00000000,
  0x00000000,
  0x00000000,
  0x80000000,
  0x80000000,
  0x80000000,
  0x80000000,
  0x80000000,
  0x00000000,
  0x80000000,
  0x80000000,
  0x80000000,
  0x00000000,
  0x80000000,
)
const ROUND_LOW = Int32Array.of(
  0x00000001,
  0x00008082,
  0x0000808a,
  0x80008000,
  0x0000808b,
  0x80000001,
  0x80008081,
  0x00008009,
  0x0000008a,
  0x00000088,
  0x80008009,
  0x8000000a,
  0x8000808b,
  0x0000008b,
  0x00008089,
  0x00008003,
  0x00008002,
  0x00000080,
  0x0000800a,
  0x8000000a,
  0x80008081,
  0x00008080,
  0x80000001,
  0x80008008,
)
// Sections 3.2.2 and 3.2.3 in one walk: the lane that each step moves to, and by how much it turns.
const WALK = Uint8Array.of(
  10,
  7,
  11,
  17,
  18,
  3,
  5,
  16,
  8,
  21,
  24,
  4,
  15,
  23,
  19,
  13,
  12,
  2,
  20,
  14,
  22,
  9,
  6,
  1,
)
const TURN = Uint8Array.of(
  1,
  3,
  6,
  10,
  15,
  21,
  28,
  36,
  45,
  55,
  2,
  14,
  27,
  41,
  56,
  8,
  25,
  43,
  62,
  18,
  39,
  61,
  20,
  44,
)

function permute(state: Int32Array): void {
  const parity = new Int32Array(10)
  const row = new Int32Array(10)
  for (let round = 0; round < 24; round += 1) {
    mixColumns(state, parity)
    turnAndMove(state)
    mixRows(state, row)
    state[0] = at(state, 0) ^ at(ROUND_LOW, round)
    state[1] = at(state, 1) ^ at(ROUND_HIGH, round)
  }
}

function mixColumns(state: Int32Array, parity: Int32Array): void {
  for (let word = 0; word < 10; word += 1) {
    parity[word] =
      at(state, word) ^
      at(state, word + 10) ^
      at(state, word + 20) ^
      at(state, word + 30) ^
      at(state, word + 40)
  }
  for (let lane = 0; lane < 10; lane += 2) {
    const next = (lane + 2) % 10
    const before = (lane + 8) % 10
    const low = at(parity, before) ^ ((at(parity, next) << 1) | (at(parity, next + 1) >>> 31))
    const high = at(parity, before + 1) ^ ((at(parity, next + 1) << 1) | (at(parity, next) >>> 31))
    for (let word = lane; word < 50; word += 10) {
      state[word] = at(state, word) ^ low
      state[word + 1] = at(state, word + 1) ^ high
    }
  }
}

function turnAndMove(state: Int32Array): void {
  let low = at(state, 2)
  let high = at(state, 3)
  for (let step = 0; step < 24; step += 1) {
    const to = at(WALK, step) * 2
    const turn = at(TURN, step)
    const bits = turn & 31
    // No turn is 0 or 32, so `32 - bits` never shifts by a whole word.
    const left = (low << bits) | (high >>> (32 - bits))
    const right = (high << bits) | (low >>> (32 - bits))
    low = at(state, to)
    high = at(state, to + 1)
    state[to] = turn < 32 ? left : right
    state[to + 1] = turn < 32 ? right : left
  }
}

function mixRows(state: Int32Array, row: Int32Array): void {
  for (let start = 0; start < 50; start += 10) {
    for (let word = 0; word < 10; word += 1) row[word] = at(state, start + word)
    for (let word = 0; word < 10; word += 1) {
      state[start + word] = at(row, word) ^ (~at(row, (word + 2) % 10) & at(row, (word + 4) % 10))
    }
  }
}

/** A word that is known to be there: indexes here are constants of the algorithm. */
function at(words: Int32Array | Uint8Array, index: number): number {
  return words[index] ?? 0
}
