import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { fromBase64 } from '../../../src/core/base64.ts'
import {
  consistencyProof,
  includes,
  inclusionProof,
  isConsistent,
  leafHash,
  nodeHash,
  rootOf,
} from '../../../src/core/tlog/merkle.ts'
import type { ReadNode } from '../../../src/core/tlog/merkle.ts'
import { readVectors } from '../../vectors/read.ts'

const hash = z.string().transform((text) => fromBase64(text) ?? new Uint8Array())
const common = {
  file: z.string(),
  proof: z
    .array(hash)
    .nullable()
    .transform((proof) => proof ?? []),
  wantErr: z.boolean(),
}
const vectors = readVectors(
  'merkle-rfc6962/merkle-proofs.json',
  z.array(
    z.union([
      z.object({
        ...common,
        leafIdx: z.number(),
        treeSize: z.number(),
        root: hash,
        leafHash: hash,
      }),
      z.object({ ...common, size1: z.number(), size2: z.number(), root1: hash, root2: hash }),
    ]),
  ),
)

/** Witnesses begin with the empty tree (c2sp.org/tlog-witness), which every tree continues; the vectors leave it out. */
const isOfEmptyTree = ({ file }: { readonly file: string }) =>
  file === 'consistency/additional/size1-is-zero-and-size2-is-not-zero.json'

test.each(vectors.filter((vector) => !isOfEmptyTree(vector)))(
  'the proof of the vector $file is judged as the vector states',
  (vector) => {
    const { proof, wantErr } = vector
    const isGood =
      'leafIdx' in vector
        ? includes(
            { size: vector.treeSize, root: vector.root },
            { index: vector.leafIdx, leaf: vector.leafHash, proof },
          )
        : isConsistent(
            { size: vector.size1, root: vector.root1 },
            { size: vector.size2, root: vector.root2 },
            proof,
          )
    expect(isGood).toBe(!wantErr)
  },
)

const largest = 40
const leaves = Array.from({ length: largest }, (_, at) => leafHash(Uint8Array.of(at)))

/** By the definition of RFC 6962, without the code under test. */
const nodes: ReadNode = async (height, at) => {
  if (height > 0)
    return nodeHash(await nodes(height - 1, 2 * at), await nodes(height - 1, 2 * at + 1))
  const leaf = leaves[at]
  if (leaf === undefined) throw new Error(`no leaf ${at}`)
  return leaf
}
const treeOf = async (size: number) => ({ size, root: await rootOf(size, nodes) })

function* changed(proof: readonly Uint8Array[]): Generator<readonly Uint8Array[]> {
  yield [...proof, new Uint8Array(32)]
  for (const at of proof.keys()) {
    yield proof.filter((_, place) => place !== at)
    yield proof.map((one, place) => (place === at ? one.map((byte) => byte ^ 1) : one))
    yield [...proof.slice(0, at), new Uint8Array(32), ...proof.slice(at)]
  }
}

describe('trees of all sizes', () => {
  test('an inclusion proof is valid for its leaf, and in no other form', async () => {
    for (let size = 1; size <= largest; size += 1) {
      const tree = await treeOf(size)
      for (let index = 0; index < size; index += 1) {
        const [leaf = new Uint8Array(), other = new Uint8Array()] = [
          leaves[index],
          leaves[index + 1],
        ]
        const proof = await inclusionProof(index, size, nodes)
        expect(includes(tree, { index, leaf, proof })).toBe(true)
        const wrong = [
          { index: index + 1, leaf, proof },
          { index: index - 1, leaf, proof },
          { index, leaf: other, proof },
          ...[...changed(proof)].map((other) => ({ index, leaf, proof: other })),
        ]
        expect(wrong.filter((one) => includes(tree, one))).toEqual([])
      }
    }
  })

  test('a consistency proof is valid for its two trees, and in no other form', async () => {
    for (let size = 1; size <= largest; size += 1) {
      const newer = await treeOf(size)
      for (let olderSize = 0; olderSize <= size; olderSize += 1) {
        const older = await treeOf(olderSize)
        const proof = await consistencyProof(olderSize, size, nodes)
        expect(isConsistent(older, newer, proof)).toBe(true)
        const zero = { size: olderSize, root: new Uint8Array(32) }
        expect(isConsistent(zero, newer, proof)).toBe(false)
        if (olderSize < size) expect(isConsistent(newer, older, proof)).toBe(false)
        expect([...changed(proof)].filter((one) => isConsistent(older, newer, one))).toEqual([])
      }
    }
  })

  test('no proof is made for a leaf or a tree that does not exist', async () => {
    await expect(inclusionProof(3, 3, nodes)).rejects.toThrow('a tree of 3 has no leaf 3')
    await expect(consistencyProof(4, 3, nodes)).rejects.toThrow('a tree of 3 does not contain 4')
  })
})
