/** A reader that has only the bucket and the public keys. */
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

import { z } from 'zod'

import type { SigningKeys } from '../../../src/contract/schemas/service.ts'
import { manifestSchema, parseManifestSignature } from '../../../src/core/documents.ts'
import type { ObjectStore } from '../../../src/outbound/object-store.ts'
import { assertSigned, sha256 } from '../../builder/publish/set.ts'
import type { ReadSet } from '../../builder/publish/set.ts'

export const pointer = z.strictObject({
  version: z.int(),
  location: z.string(),
  manifest_sha256: z.string(),
  published_at: z.iso.datetime(),
})

/** Checks every hash, size, signature and compressed form of the current set. Throws on the first mistake. */
export async function readBucket(objects: ObjectStore, keys: SigningKeys): Promise<ReadSet> {
  const read = async (key: string) => {
    const object = await objects.get(key)
    if (object === null) throw new Error(`${key} is missing`)
    return object.bytes
  }
  const text = (await read('current.json')).toString()
  const { version, location, manifest_sha256 } = pointer.parse(JSON.parse(text))
  const bytes = await read(`${location}/snapshot.json`)
  if (sha256(bytes) !== manifest_sha256) throw new Error('the manifest differs from its pointer')
  const signed = parseManifestSignature((await read(`${location}/snapshot.json.sig`)).toString())
  if (signed === null) throw new Error('no manifest signature')
  assertSigned(bytes, signed, keys)
  const manifest = manifestSchema.parse(JSON.parse(bytes.toString()))
  if (manifest.version !== version) throw new Error('the version differs from its pointer')
  const bodies = new Map<string, Buffer>()
  const forms = [
    { form: 'br', decode: brotliDecompressSync, end: '.br' },
    { form: 'gzip', decode: gunzipSync, end: '.gz' },
  ] as const
  for (const entry of manifest.documents) {
    const body = await read(`o/${entry.sha256}`)
    if (body.length !== entry.size || sha256(body) !== entry.sha256) throw new Error(entry.path)
    assertSigned(body, entry, keys)
    bodies.set(entry.path, body)
    for (const { form, decode, end } of forms) {
      const encoded = entry.encodings[form]
      if (encoded === undefined) continue
      const packed = await read(`o/${encoded.sha256}${end}`)
      if (sha256(packed) !== encoded.sha256 || !decode(packed).equals(body)) throw new Error(form)
    }
  }
  return { manifest, bodies }
}
