/** Merkle trees and their proofs (RFC 6962 section 2.1, RFC 9162 sections 2.1.3.2 and 2.1.4.2), with SHA-256. */
import { sha256 } from '@noble/hashes/sha2'

export const hashLength = 32

/**
 * Reads the root of a complete subtree: `2 ** height` leaves, starting at `at * 2 ** height`.
 * @throws Error if it is unknown
 */
export type ReadNode = (height: number, at: number) => Promise<Uint8Array>

export function leafHash(entry: Uint8Array): Uint8Array {
  return sha256.create().update(leafMark).update(entry).digest()
}

export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  return sha256.create().update(nodeMark).update(left).update(right).digest()
}

const leafMark = Uint8Array.of(0)
export const nodeMark = Uint8Array.of(1)

export async function rootOf(size: number, read: ReadNode): Promise<Uint8Array> {
  return size === 0 ? emptyRoot() : await rangeRoot(0, size, read)
}

export const emptyRoot = (): Uint8Array => sha256(new Uint8Array())

/** From the sibling of the leaf up to a child of the root. */
export async function inclusionProof(
  index: number,
  size: number,
  read: ReadNode,
): Promise<readonly Uint8Array[]> {
  if (index < 0 || index >= size) throw new RangeError(`a tree of ${size} has no leaf ${index}`)
  const proof: Uint8Array[] = []
  let [from, to] = [0, size]
  while (to - from > 1) {
    const middle = from + largestPowerBelow(to - from)
    const isLeft = index < middle
    proof.push(await (isLeft ? rangeRoot(middle, to, read) : rangeRoot(from, middle, read)))
    if (isLeft) to = middle
    else from = middle
  }
  return proof.toReversed()
}

/** Empty if the older tree is empty or of the same size. */
export async function consistencyProof(
  olderSize: number,
  size: number,
  read: ReadNode,
): Promise<readonly Uint8Array[]> {
  if (olderSize > size)
    throw new RangeError(`a tree of ${size} does not contain ${olderSize} leaves`)
  if (olderSize === 0 || olderSize === size) return []
  const proof: Uint8Array[] = []
  let [from, to] = [0, size]
  while (to !== olderSize) {
    const middle = from + largestPowerBelow(to - from)
    const isLeft = olderSize <= middle
    proof.push(await (isLeft ? rangeRoot(middle, to, read) : rangeRoot(from, middle, read)))
    if (isLeft) to = middle
    else from = middle
  }
  if (from > 0) proof.push(await rangeRoot(from, to, read))
  return proof.toReversed()
}

interface Tree {
  readonly size: number
  readonly root: Uint8Array
}

export function includes(
  { size, root }: Tree,
  {
    index,
    leaf,
    proof,
  }: { readonly index: number; readonly leaf: Uint8Array; readonly proof: readonly Uint8Array[] },
): boolean {
  if (index < 0 || index >= size || leaf.length !== hashLength) return false
  const climbed = climb(index, size - 1, leaf, proof)
  return climbed !== null && isSame(climbed.whole, root)
}

/** True if the first `older.size` leaves of `newer` are those of `older`. */
export function isConsistent(older: Tree, newer: Tree, proof: readonly Uint8Array[]): boolean {
  if (older.size > newer.size) return false
  if (older.size === 0 && !isSame(older.root, sha256(new Uint8Array()))) return false
  if (older.size === newer.size) return proof.length === 0 && isSame(older.root, newer.root)
  if (older.size === 0) return proof.length === 0
  let [at, last] = [older.size - 1, newer.size - 1]
  while (at % 2 === 1) [at, last] = [half(at), half(last)]
  // The older tree is a complete subtree of the newer one, so that its root is the first hash.
  const [first, ...rest] = at === 0 ? [older.root, ...proof] : proof
  if (first === undefined) return false
  const climbed = climb(at, last, first, rest)
  return climbed !== null && isSame(climbed.start, older.root) && isSame(climbed.whole, newer.root)
}

/** From a node to the roots of the whole tree and of its start up to the node. Null for a proof of another length. */
function climb(index: number, end: number, node: Uint8Array, proof: readonly Uint8Array[]) {
  let [at, last, whole, start] = [index, end, node, node]
  for (const sibling of proof) {
    if (last === 0) return null
    if (at % 2 === 1 || at === last) {
      start = nodeHash(sibling, start)
      whole = nodeHash(sibling, whole)
      while (at % 2 === 0 && at !== 0) [at, last] = [half(at), half(last)]
    } else {
      whole = nodeHash(whole, sibling)
    }
    ;[at, last] = [half(at), half(last)]
  }
  return last === 0 ? { whole, start } : null
}

export function isSame(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, at) => byte === right[at])
}

const half = (value: number): number => Math.floor(value / 2)

function largestPowerBelow(count: number): number {
  let power = 1
  while (power * 2 < count) power *= 2
  return power
}

/** The root of the leaves from `from` to before `to`; `from` must be the start of a subtree of this size. */
async function rangeRoot(from: number, to: number, read: ReadNode): Promise<Uint8Array> {
  const count = to - from
  const height = Math.log2(count)
  if (Number.isInteger(height)) return await read(height, from / count)
  const middle = from + largestPowerBelow(count)
  return nodeHash(await rangeRoot(from, middle, read), await rangeRoot(middle, to, read))
}
