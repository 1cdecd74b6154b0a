import { sha256Hex } from '../../src/auth/messages.ts'
import type { KeyRing } from '../../src/auth/service-keys.ts'
import type { Log } from '../../src/core/deps.ts'
import { MANIFEST_FILE, manifestSchema, parseManifestSignature } from '../../src/core/documents.ts'
import type { Manifest } from '../../src/core/documents.ts'
import type { Publication } from '../../src/db/publications.ts'
import { filesOfEntry } from './store/store.ts'
import type { CheckedFiles, SetStore, StoredFile } from './store/store.ts'

export interface PastSet {
  readonly manifest: Manifest
  /** False if it could not be read, or if readers may have seen a newer one. */
  readonly isNewest: boolean
  /** False if another key signed it, so that all documents must be signed again. */
  readonly isOurs: boolean
  /** Keys of its files that are missing or differ. */
  readonly damaged: ReadonlySet<string>
}

/** `manifestSha256`: null if the database does not know it. */
interface Place {
  readonly location: string
  readonly manifestSha256: string | null
}

export interface ReadSet {
  readonly manifestSha256: string
  readonly manifest: Manifest
  readonly bytes: Buffer
  readonly signature: Buffer
  readonly files: readonly StoredFile[]
}

export interface PastMemory {
  readonly checked: CheckedFiles
  last: ReadSet | null
  /** Sets of which the store has any file, newest first, also those without a row; null before they were listed. */
  stored: readonly StoredSet[] | null
}

export interface StoredSet {
  readonly version: number
  readonly location: string
}

/** Reads the newest recorded set that is readable, or a stored one if the database names none of them. */
export async function readPastSet(
  store: SetStore,
  publications: readonly Publication[],
  { ring, memory, log }: { readonly ring: KeyRing; readonly memory: PastMemory; readonly log: Log },
): Promise<PastSet | null> {
  memory.stored ??= await storedSets(store)
  const [newest] = publications
  const others = memory.stored.map(({ location }) => ({ location, manifestSha256: null }))
  for (const place of [...publications, ...others]) {
    const isKnown = memory.last !== null && memory.last.manifestSha256 === place.manifestSha256
    const set = isKnown ? memory.last : await readSet(store, place)
    if (set === null) {
      if (place === newest) log.error('the last manifest is missing or damaged', { ...place })
      continue
    }
    const { manifest, bytes, files } = set
    const signed = parseManifestSignature(set.signature.toString())
    const signature = Buffer.from(signed?.signature ?? '', 'base64')
    const isOurs = signed !== null && ring.verify(signed.kid, bytes, signature) === 'good'
    if (place.manifestSha256 === null && !isOurs) continue
    memory.last = set
    const damaged = await store.damaged(files, memory.checked)
    forgetOthers(memory.checked, files)
    const isNewest = place === newest && manifest.version >= (memory.stored[0]?.version ?? 0)
    return { manifest, isNewest, isOurs, damaged }
  }
  return null
}

async function storedSets(store: SetStore): Promise<readonly StoredSet[]> {
  const keys = [...(await store.list('g/')).keys()]
  const locations = new Set(keys.map((key) => key.slice(0, key.lastIndexOf('/'))))
  return [...locations]
    .map((location) => ({ version: Number(location.split('-')[1]), location }))
    .sort((left, right) => right.version - left.version)
}

/** Bounds the memory of a process that publishes for days. */
function forgetOthers(checked: CheckedFiles, files: readonly StoredFile[]): void {
  if (checked.size <= 2 * files.length) return
  const named = new Set(files.map(({ key }) => key))
  for (const key of checked.keys()) if (!named.has(key)) checked.delete(key)
}

/** Null if the manifest is missing or damaged. */
export async function readSet(
  store: SetStore,
  { location, manifestSha256: expected }: Place,
): Promise<ReadSet | null> {
  const key = `${location}/${MANIFEST_FILE}`
  const bytes = (await store.get(key))?.bytes
  if (bytes === undefined) return null
  const manifestSha256 = sha256Hex(bytes)
  if (expected !== null && manifestSha256 !== expected) return null
  const manifest = manifestSchema.safeParse(jsonIn(bytes.toString())).data
  if (manifest === undefined) return null
  const signature = (await store.get(`${key}.sig`))?.bytes ?? Buffer.alloc(0)
  return describeSet({ location, manifestSha256 }, manifest, bytes, signature)
}

/** Null if it is no JSON. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

export function describeSet(
  { location, manifestSha256 }: Pick<Publication, 'location' | 'manifestSha256'>,
  manifest: Manifest,
  bytes: Buffer,
  signature: Buffer,
): ReadSet {
  const key = `${location}/${MANIFEST_FILE}`
  const files = [
    ...manifest.documents.flatMap(filesOfEntry),
    { key, sha256: manifestSha256, size: bytes.length },
    { key: `${key}.sig`, sha256: sha256Hex(signature), size: signature.length },
  ]
  return { manifestSha256, manifest, bytes, signature, files }
}
