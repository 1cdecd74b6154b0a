import { z } from 'zod'

import { canonicalize } from '../../../src/core/canonical-json.ts'
import type { Publication } from '../../../src/db/publications.ts'
import type { ObjectStore } from '../../../src/outbound/object-store.ts'

/** Makes the value of `If-Match` from an entity tag; null if the store ignores conditions. */
export type IfMatch = ((etag: string) => string) | null

const headers = { 'content-type': 'application/json', 'cache-control': 'public, max-age=5' }
const POINTER_KEY = 'current.json'
const pointerSchema = z.object({ version: z.int() })
/** Each failed attempt means that another builder has moved the pointer. */
const MAX_ATTEMPTS = 20

/** Writes an object at `key`, which must be unused, and removes it. */
export async function probeConditions(objects: ObjectStore, key: string): Promise<IfMatch> {
  const put = (condition: Record<string, string>) => objects.put(key, Buffer.from(key), condition)
  try {
    // The first answer may have been lost, so only the second one counts.
    await put({ 'if-none-match': '*' })
    if (await put({ 'if-none-match': '*' })) return null
    if (await put({ 'if-match': '0'.repeat(32) })) return null
    const etag = (await objects.get(key))?.etag ?? ''
    // Stores that are built on Ceph take the tag without quotes only.
    const forms = [(tag: string) => tag, (tag: string) => tag.replaceAll('"', '')]
    for (const form of forms) if (await put({ 'if-match': form(etag) })) return form
    return null
  } finally {
    await objects.remove(key)
  }
}

/** The version is 0 if there is no pointer. */
export async function readPointer(objects: ObjectStore) {
  const found = await objects.get(POINTER_KEY)
  if (found === null) return { etag: null, version: 0 }
  return { etag: found.etag, ...pointerSchema.parse(JSON.parse(found.bytes.toString())) }
}

/** Moves the pointer of the bucket to the publication unless it names the same or a newer one. */
export async function movePointer(
  objects: ObjectStore,
  ifMatch: NonNullable<IfMatch>,
  { version, location, manifestSha256, publishedAt }: Publication,
): Promise<void> {
  const pointer = { version, location, manifest_sha256: manifestSha256, published_at: publishedAt }
  const bytes = Buffer.from(canonicalize(pointer), 'utf8')
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const { etag, version: present } = await readPointer(objects)
    // Also true if the answer to an earlier attempt was lost.
    if (present >= version) return
    const condition = etag === null ? { 'if-none-match': '*' } : { 'if-match': ifMatch(etag) }
    if (await objects.put(POINTER_KEY, bytes, { ...headers, ...condition })) return
  }
  throw new Error(`${POINTER_KEY} could not be moved to version ${version}`)
}
