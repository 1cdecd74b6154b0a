/** Tiles of a log (c2sp.org/tlog-tiles): 256 hashes of one level, of which each is the root of 256 hashes one level below. */
import { hashLength, nodeHash } from './merkle.ts'
import type { ReadNode } from './merkle.ts'

export const tileWidth = 256
const tileHeight = 8

/** Level 0 contains the hashes of the leaves. A partial tile has fewer than `tileWidth` hashes. */
export interface Tile<Level = number> {
  readonly level: Level
  readonly at: number
  readonly width: number
}

/** Returns at least the hashes of the tile. @throws Error if they are unknown */
export type ReadTile = (tile: Tile) => Promise<Uint8Array>

/** The tiles of a tree of `size` that differ from those of a tree of `olderSize`, lowest level first. */
export function newTiles(olderSize: number, size: number): readonly Tile[] {
  const tiles: Tile[] = []
  let [level, known, count] = [0, olderSize, size]
  while (count > 0) {
    for (let at = Math.floor(known / tileWidth); at * tileWidth < count; at += 1) {
      const width = Math.min(tileWidth, count - at * tileWidth)
      if (count > known) tiles.push({ level, at, width })
    }
    ;[level, known, count] = [
      level + 1,
      Math.floor(known / tileWidth),
      Math.floor(count / tileWidth),
    ]
  }
  return tiles
}

/** Paths of entries have the level `entries`. */
export function tilePath({ level, at, width }: Tile<number | 'entries'>): string {
  const digits = String(at)
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/.{3}/g) ?? []
  const name = groups.map((group, place) => (place < groups.length - 1 ? `x${group}` : group))
  return `tile/${level}/${name.join('/')}${width === tileWidth ? '' : `.p/${width}`}`
}

/** Null for other paths, including tiles that exist only in trees of 2 ** 53 leaves or more. */
export function parseTilePath(path: string): Tile<number | 'entries'> | null {
  const [, level = '', groups = '', width] =
    /^tile\/(entries|[0-6])\/((?:x\d{3}\/)*\d{3})(?:\.p\/([1-9]\d{0,2}))?$/.exec(path) ?? []
  const at = Number(groups.replaceAll(/[x/]/g, ''))
  const tile: Tile<number | 'entries'> = {
    level: level === 'entries' ? level : Number(level),
    at,
    width: width === undefined ? tileWidth : Number(width),
  }
  return level !== '' && Number.isSafeInteger(at) && tilePath(tile) === path ? tile : null
}

/**
 * Reads nodes from the tiles of a tree of `size`. Caches the last tile of each level, which a proof reads repeatedly.
 * @param hashNode a faster implementation of `nodeHash`
 */
export function nodesOf(size: number, readTile: ReadTile, hashNode = nodeHash): ReadNode {
  const last = new Map<number, readonly [at: number, hashes: Promise<Uint8Array>]>()
  return async (height, at) => {
    const level = Math.floor(height / tileHeight)
    const count = 2 ** (height - level * tileHeight)
    const first = at * count
    const tileAt = Math.floor(first / tileWidth)
    const inLevel = Math.floor(size / tileWidth ** level)
    const width = Math.min(tileWidth, inLevel - tileAt * tileWidth)
    const offset = first - tileAt * tileWidth
    if (offset + count > width) throw new RangeError(`a tree of ${size} has no such subtree`)
    const kept = last.get(level)
    const read = kept?.[0] === tileAt ? kept[1] : readTile({ level, at: tileAt, width })
    last.set(level, [tileAt, read])
    const hashes = await read
    const inside = hashes.subarray(offset * hashLength, (offset + count) * hashLength)
    return subtreeRoot(inside, hashNode)
  }
}

/** Appends leaves. Returns the tiles that differ, lowest level first; reads only those that grow. */
export async function growTiles(
  size: number,
  leaves: readonly Uint8Array[],
  readTile: ReadTile,
): Promise<readonly (Tile & { readonly hashes: Uint8Array })[]> {
  const grown: (Tile & { readonly hashes: Uint8Array })[] = []
  const added = [[...leaves]]
  for (const tile of newTiles(size, size + leaves.length)) {
    const { level, at, width } = tile
    const known = Math.floor(size / tileWidth ** level)
    const start = at * tileWidth
    const held = Math.max(0, known - start)
    const hashes = new Uint8Array(width * hashLength)
    if (held > 0) {
      const present = await readTile({ level, at, width: held })
      hashes.set(present.subarray(0, held * hashLength))
    }
    const fresh = added[level]?.slice(start + held - known, start + width - known) ?? []
    for (const [place, hash] of fresh.entries()) hashes.set(hash, (held + place) * hashLength)
    grown.push({ ...tile, hashes })
    if (width === tileWidth) (added[level + 1] ??= []).push(subtreeRoot(hashes))
  }
  return grown
}

/** The number of hashes is a power of 2. */
export function subtreeRoot(hashes: Uint8Array, hashNode = nodeHash): Uint8Array {
  let row = Array.from({ length: hashes.length / hashLength }, (_, at) =>
    hashes.subarray(at * hashLength, (at + 1) * hashLength),
  )
  while (row.length > 1) {
    const next: Uint8Array[] = []
    for (let at = 0; at < row.length; at += 2) {
      const [left, right] = [row[at], row[at + 1]]
      if (left === undefined || right === undefined) throw new RangeError('not a complete subtree')
      next.push(hashNode(left, right))
    }
    row = next
  }
  const [root] = row
  if (root === undefined) throw new RangeError('not a complete subtree')
  return root
}

/** Encodes the entries of a tile, each after its length in two bytes (big-endian). */
export function packEntries(entries: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(entries.reduce((sum, entry) => sum + 2 + entry.length, 0))
  const view = new DataView(bytes.buffer)
  let offset = 0
  for (const entry of entries) {
    view.setUint16(offset, entry.length)
    bytes.set(entry, offset + 2)
    offset += 2 + entry.length
  }
  return bytes
}

/** @throws RangeError if the last entry is cut short */
export function unpackEntries(bytes: Uint8Array): readonly Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const entries: Uint8Array[] = []
  for (let offset = 0; offset < bytes.length;) {
    const end = offset + 2 + view.getUint16(offset)
    if (end > bytes.length) throw new RangeError('the last entry is cut short')
    entries.push(bytes.subarray(offset + 2, end))
    offset = end
  }
  return entries
}
