import { expect, test } from 'vitest'

import { openCheckpoint } from '../../../src/auth/notes.ts'
import { openTree } from '../../../src/client/log.ts'
import { NoteError } from '../../../src/core/tlog/checkpoint.ts'
import { consistencyProof, isConsistent, leafHash, rootOf } from '../../../src/core/tlog/merkle.ts'
import { formatKey, formatNote, parseKey, parseNote } from '../../../src/core/tlog/note.ts'
import {
  growTiles,
  newTiles,
  nodesOf,
  packEntries,
  parseTilePath,
  tilePath,
  unpackEntries,
} from '../../../src/core/tlog/tiles.ts'
import { readVector } from '../../vectors/read.ts'

/** The key of the sample, in the source of the tests of its project. */
const vkey = 'example.com/log/testdata+33d7b496+AeHTu4Q3hEIMHNqc6fASMsq3rKNx280NI+oO5xCFkkSx'
const key =
  parseKey(vkey) ??
  (() => {
    throw new Error('malformed key')
  })()
const sample = (path: string) => readVector(`tlog-tiles-sample/log/${path}`)
const sizes = Array.from({ length: 16 }, (_, size) => size)

test.each(sizes)('the sample log of %i entries is read and verified', async (size) => {
  const note = sample(`checkpoint.${size}`).toString()
  const checkpoint = openCheckpoint(note, key)
  expect(checkpoint.size).toBe(size)
  const { nodes, entriesOf } = await openTree(checkpoint, (path) => Promise.resolve(sample(path)))
  if (size > 0) {
    const entries = await entriesOf(0)
    expect(entries).toHaveLength(size)
    expect(packEntries(entries)).toEqual(
      new Uint8Array(sample(tilePath({ level: 'entries', at: 0, width: size }))),
    )
  }
  for (const olderSize of sizes.slice(1, size)) {
    const older = openCheckpoint(sample(`checkpoint.${olderSize}`).toString(), key)
    const proof = await consistencyProof(olderSize, size, nodes)
    expect(isConsistent(older, checkpoint, proof)).toBe(true)
  }
  expect(formatNote(parseNote(note) ?? { text: '', signatures: [] })).toBe(note)
  expect(() => openCheckpoint(note.replace(`\n${size}\n`, `\n${size + 1}\n`), key)).toThrow(
    NoteError,
  )
})

test('a verifier key is parsed only in its exact form', () => {
  expect(formatKey(key)).toBe(vkey)
  for (const other of [
    vkey.replace('33d7', '33d8'),
    vkey.replace('testdata', 'testdatb'),
    vkey.replace('+AeH', '+AuH'),
    vkey.slice(0, -1),
    `${vkey}\n`,
  ]) {
    expect(parseKey(other)).toBeNull()
  }
})

test('a checkpoint that another implementation signed with ML-DSA-44 is verified, and no changed one', () => {
  const text = readVector('torchwood/mldsa-vkey').toString().trim()
  const mlDsaKey = parseKey(text)
  if (mlDsaKey === null) throw new Error('malformed key')
  expect(formatKey(mlDsaKey)).toBe(text)
  const note = readVector('torchwood/mldsa-checkpoint').toString()
  expect(openCheckpoint(note, mlDsaKey)).toMatchObject({ origin: 'example.com/mldsa-log', size: 1 })
  const changed = (part: string, other: string) => () =>
    openCheckpoint(note.replace(part, other), mlDsaKey)
  expect(changed('\n1\n', '\n2\n')).toThrow(NoteError)
  expect(changed('\n+zoE', '\n+zoF')).toThrow(NoteError)
  expect(changed('td9FxQAAAAAAAAAA', 'td9FxQAAAAAAAAAB')).toThrow(NoteError)
  expect(changed('kjFvCxC6', 'kjFvCxC7')).toThrow(NoteError)
  // The message has no lines of extensions.
  expect(changed('\n\n', '\nan extension\n\n')().size).toBe(1)
})

test.each([
  [0, '000'],
  [7, '007'],
  [1000, 'x001/000'],
  [1_234_067, 'x001/x234/067'],
])('tile %i has the path %s', (at, path) => {
  for (const [level, width, text] of [
    [0, 256, `tile/0/${path}`],
    [3, 17, `tile/3/${path}.p/17`],
    ['entries', 256, `tile/entries/${path}`],
  ] as const) {
    expect(tilePath({ level, at, width })).toBe(text)
    expect(parseTilePath(text)).toEqual({ level, at, width })
  }
})

test.each([
  'tile/0/7',
  'tile/0/0007',
  'tile/0/x000/007',
  'tile/0/001/000',
  'tile/0/000.p/0',
  'tile/0/000.p/256',
  'tile/0/000.p/01',
  'tile/7/000',
  'tile/00/000',
  'tile/data/000',
  'tile/0/000/',
  'tile/0/-01',
])('%s is not the path of a tile', (path) => {
  expect(parseTilePath(path)).toBeNull()
})

test('a tree of 70,000 entries has the tiles of the specification', () => {
  const tiles = newTiles(0, 70_000)
  const count = (level: number, isFull: boolean) =>
    tiles.filter((tile) => tile.level === level && (tile.width === 256) === isFull).length
  expect([count(0, true), count(0, false), count(1, true), count(1, false)]).toEqual([273, 1, 1, 1])
  expect(tiles.filter(({ width }) => width < 256).map(({ width }) => width)).toEqual([112, 17, 1])
  expect(tiles).toHaveLength(277)
})

test('a tree that grows in steps has the tiles and the root of one that grows at once', async () => {
  const leaves = Array.from({ length: 1500 }, (_, at) => leafHash(Buffer.from(`${at}`)))
  const grow = async (steps: readonly number[]) => {
    const tiles = new Map<string, Uint8Array>()
    const read = ({ level, at }: { level: number; at: number }) =>
      Promise.resolve(tiles.get(`${level}/${at}`) ?? new Uint8Array())
    let size = 0
    for (const step of steps) {
      const grown = await growTiles(size, leaves.slice(size, size + step), read)
      expect(grown.map(({ level, at, width }) => ({ level, at, width }))).toEqual(
        newTiles(size, size + step),
      )
      for (const { level, at, hashes } of grown) tiles.set(`${level}/${at}`, hashes)
      size += step
    }
    return { tiles, root: await rootOf(size, nodesOf(size, read)) }
  }
  expect(await grow([1, 254, 1, 1, 255, 512, 400, 76])).toEqual(await grow([1500]))
})

test('entries are unpacked as they were packed, and not if they are cut short', () => {
  const entries = [new Uint8Array(), Uint8Array.of(1), new Uint8Array(65_535)]
  const bytes = packEntries(entries)
  expect(unpackEntries(bytes)).toEqual(entries)
  for (const end of [1, 3, 4, bytes.length - 1]) {
    expect(() => unpackEntries(bytes.subarray(0, end))).toThrow(RangeError)
  }
})
