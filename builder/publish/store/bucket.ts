/** A bucket of an S3-compatible object store. `current.json` names the current set. */
import { z } from 'zod'

import { canonicalize } from '../../../src/core/canonical-json.ts'
import type { Log } from '../../../src/core/deps.ts'
import { immutable } from '../../../src/core/documents.ts'
import { dayMs, hourMs } from '../../../src/core/time.ts'
import type { ObjectStore } from '../../../src/outbound/object-store.ts'
import type { SetStore } from './store.ts'

/** Makes the value of `If-Match` from an entity tag; null if the store ignores conditions. */
type IfMatch = ((etag: string) => string) | null

const bodyHeaders = { 'content-type': 'application/octet-stream', 'cache-control': immutable }
const pointerHeaders = { 'content-type': 'application/json', 'cache-control': 'public, max-age=5' }
const POINTER_KEY = 'current.json'
const pointerSchema = z.object({ version: z.int() })
/** Each failed attempt means that another builder has moved the pointer. */
const MAX_ATTEMPTS = 20

interface BucketDeps {
  readonly objects: ObjectStore
  readonly fence: number
  readonly log: Log
  readonly beforeStep?: (step: string) => void
}

export function createBucket({ objects, fence, log, beforeStep: step }: BucketDeps): SetStore {
  let probed: Promise<IfMatch> | undefined
  let shown = 0

  async function probe(): Promise<IfMatch> {
    const ifMatch = await probeConditions(objects, `probe/${fence}`)
    if (ifMatch === null) log.warn('the object store ignores conditions: it gets no current.json')
    return ifMatch
  }

  /** A failed probe is repeated. */
  async function conditions(): Promise<IfMatch> {
    probed ??= probe()
    return await probed.catch((error: unknown) => {
      probed = undefined
      throw error
    })
  }

  return {
    ...objects,
    fence,
    keeps: { sets: 64, ageMs: 2 * dayMs, marginMs: hourMs },
    batch: async (work) => {
      const written = new Set<string>()
      return await work(async (key, bytes) => {
        if (written.has(key)) return
        written.add(key)
        step?.(`upload ${key}`)
        await objects.put(key, bytes, bodyHeaders)
      })
    },
    // The store itself detects changed bytes, so a process checks for missing objects only once.
    damaged: async (files, checked) => {
      if (checked.size > 0) return new Set()
      const present = await objects.list('o/')
      const bodies = files.map(({ key }) => key).filter((key) => key.startsWith('o/'))
      for (const key of present.keys()) checked.set(key, '')
      return new Set(bodies.filter((key) => !present.has(key)))
    },
    canShow: async () => (await conditions()) !== null,
    show: async ({ version, location, manifestSha256, publishedAt }) => {
      const ifMatch = await conditions()
      if (ifMatch === null || version <= shown) return
      step?.('point')
      const pointer = {
        version,
        location,
        manifest_sha256: manifestSha256,
        published_at: publishedAt,
      }
      await movePointer(objects, ifMatch, version, Buffer.from(canonicalize(pointer), 'utf8'))
      shown = version
    },
  }
}

/** Writes an object at `key`, which must be unused, and removes it. */
async function probeConditions(objects: ObjectStore, key: string): Promise<IfMatch> {
  const put = (condition: Record<string, string>) => objects.put(key, Buffer.from(key), condition)
  try {
    // The first answer may have been lost, so only the second one counts.
    await put({ 'if-none-match': '*' })
    if (await put({ 'if-none-match': '*' })) return null
    if (await put({ 'if-match': '0'.repeat(32) })) return null
    const etag = (await objects.get(key))?.etag ?? ''
    // Stores built on Ceph accept the tag only without quotes.
    const forms = [(tag: string) => tag, (tag: string) => tag.replaceAll('"', '')]
    for (const form of forms) if (await put({ 'if-match': form(etag) })) return form
    return null
  } finally {
    await objects.remove(key)
  }
}

/** Leaves a pointer to the same or a newer version. */
async function movePointer(
  objects: ObjectStore,
  ifMatch: NonNullable<IfMatch>,
  version: number,
  pointer: Uint8Array,
): Promise<void> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const found = await objects.get(POINTER_KEY)
    // Also true if the answer to an earlier attempt was lost.
    if (found !== null && versionIn(found.bytes) >= version) return
    const condition =
      found === null ? { 'if-none-match': '*' } : { 'if-match': ifMatch(found.etag) }
    if (await objects.put(POINTER_KEY, pointer, { ...pointerHeaders, ...condition })) return
  }
  throw new Error(`${POINTER_KEY} could not be moved to version ${version}`)
}

/** A damaged pointer is replaced. */
function versionIn(pointer: Buffer): number {
  try {
    return pointerSchema.parse(JSON.parse(pointer.toString())).version
  } catch {
    return 0
  }
}
