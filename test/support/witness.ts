/** A witness of one log (c2sp.org/tlog-witness). It remembers the newest checkpoint, and reads no entries. */
import { createHash } from 'node:crypto'
import { text } from 'node:stream/consumers'

import { ml_dsa44 as mlDsa44 } from '@noble/post-quantum/ml-dsa.js'

import { openCheckpoint } from '../../src/auth/notes.ts'
import { signBytes, signingKeyFromSeed } from '../../src/auth/signing-key.ts'
import { NoteError, parseHashes } from '../../src/core/tlog/checkpoint.ts'
import type { Checkpoint } from '../../src/core/tlog/checkpoint.ts'
import { isConsistent } from '../../src/core/tlog/merkle.ts'
import { keyId } from '../../src/core/tlog/note.ts'
import type { NoteKey } from '../../src/core/tlog/note.ts'
import type { KnownWitness } from '../../src/core/tlog/policy.ts'
import { serveDuringTest } from './local-server.ts'

export interface Cosigner {
  readonly key: NoteKey
  /** Returns the line of a cosignature (c2sp.org/tlog-cosignature). `time`: Unix seconds. */
  readonly cosign: (text: string, time: number) => string
}

export function cosignerOf(name: string, seed: number): Cosigner {
  const signingKey = signingKeyFromSeed(new Uint8Array(32).fill(seed))
  const key = { name, type: 'witness', publicKey: signingKey.publicKey } as const
  return {
    key,
    cosign: (body, time) => {
      const stamp = Buffer.alloc(8)
      stamp.writeBigUInt64BE(BigInt(time))
      const message = Buffer.from(`cosignature/v1\ntime ${time}\n${body}`)
      const parts = [keyId(key), stamp, signBytes(signingKey, message)]
      return `— ${name} ${Buffer.concat(parts).toString('base64')}`
    },
  }
}

/** A witness that signs with ML-DSA-44. */
export function mlDsaCosignerOf(name: string, seed: number): Cosigner {
  const { publicKey, secretKey } = mlDsa44.keygen(new Uint8Array(32).fill(seed))
  const key = { name, type: 'mlDsaWitness', publicKey } as const
  return {
    key,
    cosign: (body, time) => {
      const [origin = '', size = '', root = ''] = body.split('\n')
      const u64 = (value: number | string) => {
        const bytes = Buffer.alloc(8)
        bytes.writeBigUInt64BE(BigInt(value))
        return bytes
      }
      const opaque = (text: string) => [Buffer.of(Buffer.byteLength(text)), Buffer.from(text)]
      const message = Buffer.concat([
        Buffer.from('subtree/v1\n\0'),
        ...opaque(name),
        u64(time),
        ...opaque(origin),
        u64(0),
        u64(size),
        Buffer.from(root, 'base64'),
      ])
      const parts = [keyId(key), u64(time), mlDsa44.sign(message, secretKey)]
      return `— ${name} ${Buffer.concat(parts).toString('base64')}`
    },
  }
}

export async function serveWitness(log: NoteKey, { key, cosign }: Cosigner): Promise<KnownWitness> {
  let known: Pick<Checkpoint, 'size' | 'root'> | null = null

  function answerTo(body: string): readonly [status: number, text: string] {
    const [, old = '', hashes = '', note = ''] =
      /^old (\d+)\n((?:[^\n]+\n)*)\n([^]*)$/.exec(body) ?? []
    const proof = parseHashes(hashes.split('\n').slice(0, -1))
    if (old === '' || proof === null) return [400, 'malformed']
    const submitted = openCheckpoint(note, log)
    if (Number(old) > submitted.size) return [400, 'the old size is larger']
    const size = known?.size ?? 0
    if (Number(old) !== size) return [409, `${size}\n`]
    const older = known ?? { size, root: createHash('sha256').digest() }
    if (!isConsistent(older, submitted, proof)) return [422, 'not consistent']
    known = submitted
    return [200, `${cosign(note.slice(0, note.indexOf('\n\n') + 1), 1_790_000_000)}\n`]
  }

  const url = await serveDuringTest((request, response) => {
    const respond = async () => {
      const [status, answer] = answerTo(await text(request))
      response.writeHead(status).end(answer)
    }
    respond().catch((error: unknown) => {
      if (!(error instanceof NoteError)) throw error
      response.writeHead(403).end(error.message)
    })
  })
  return { key, url }
}
