import { createHash, createPublicKey, verify } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

import { beforeEach } from 'vitest'

import type { PublicDocument } from '../../../builder/publish/document.ts'
import type { PublishOutcome, PublishOptions } from '../../../builder/publish/publish.ts'
import type { SetStore } from '../../../builder/publish/store/store.ts'
import { loadKeys } from '../../../src/auth/service-keys.ts'
import type { Keys } from '../../../src/auth/service-keys.ts'
import type { SigningKeys } from '../../../src/contract/schemas/service.ts'
import type { JsonObject } from '../../../src/core/canonical-json.ts'
import {
  manifestSchema,
  manifestSetText,
  parseManifestSignature,
} from '../../../src/core/documents.ts'
import type { Manifest, ManifestEntry } from '../../../src/core/documents.ts'
import type { OpenDatabase } from '../../../src/db/open.ts'
import type { SetSource } from '../../../src/http/published-sets.ts'
import { filledByHook } from '../../support/filled-by-hook.ts'
import { publishedDirectory } from '../../support/published-directory.ts'
import { quietLog } from '../../support/quiet-log.ts'

export const startMs = Date.UTC(2026, 10, 21, 6)

export interface Workspace {
  readonly source: SetSource
  readonly database: OpenDatabase
  readonly startStore: () => SetStore
  readonly root: string
  readonly publicDir: string
  readonly keysDir: string
  readonly keys: Keys
  readonly publish: (
    documents: readonly PublicDocument[],
    more?: Partial<PublishOptions>,
  ) => Promise<PublishOutcome>
  readonly read: () => ReadSet
  readonly remove: () => Promise<void>
}

export async function workspace(): Promise<Workspace> {
  const root = mkdtempSync(join(tmpdir(), 'publish-'))
  const publicDir = join(root, 'public')
  const keysDir = join(root, 'keys')
  const keys = await loadKeys({ dir: keysDir, nowMs: startMs })
  const { publish, source, database, startStore, close } = await publishedDirectory(publicDir)
  return {
    root,
    source,
    database,
    startStore,
    publicDir,
    keysDir,
    keys,
    publish: async (documents, more) =>
      await publish({ ...publishDefaults(keys), documents, ...more }),
    read: () => readSet(publicDir, keys.publicKeys),
    remove: async () => {
      await close()
      rmSync(root, { recursive: true })
    },
  }
}

export function useWorkspace(): Omit<Workspace, 'remove'> {
  const place = filledByHook<Workspace>()
  beforeEach(async () => {
    Object.assign(place, await workspace())
    return place.remove
  })
  return place
}

export function publishDefaults({ signer, ring }: Keys) {
  const siteUrl = 'https://ledger.test'
  return { siteUrl, assetsDir: null, signer, ring, nowMs: startMs, log: quietLog }
}

export function jsonDocument(path: string, json: JsonObject): PublicDocument {
  return {
    path,
    contentType: 'application/json',
    maxAgeSeconds: 60,
    body: { json, stamp: 'computed_at' },
    archive: json,
  }
}

export function textDocument(path: string, contentType: string, text: string): PublicDocument {
  return { path, contentType, maxAgeSeconds: 300, body: { text }, archive: text }
}

/** Documents that contain the version of the world, and one that never changes. */
export function worldOf(version: number, rails = 12): PublicDocument[] {
  const names = Array.from({ length: rails }, (_, index) => `rail-${index}`)
  const filler = 'figures of a rail that pays agents, '.repeat(40)
  return [
    jsonDocument('/api/v1/rails', { version, rails: names, filler }),
    ...names.map((rail) => jsonDocument(`/api/v1/rails/${rail}`, { version, rail, filler })),
    textDocument('/api/v1/rails.csv', 'text/csv; charset=utf-8; header=present', `v\n${version}\n`),
    textDocument('/desk/SKILL.md', 'text/markdown; charset=utf-8', `# Version ${version}\n`),
    jsonDocument('/.well-known/oaths.json', { oaths: ['constant'], filler }),
  ]
}

const codings = [
  { coding: 'br', suffix: '.br', decode: brotliDecompressSync },
  { coding: 'gzip', suffix: '.gz', decode: gunzipSync },
] as const

export interface ReadSet {
  readonly manifest: Manifest
  readonly bodies: ReadonlyMap<string, Buffer>
}

/**
 * Reads the current set with the public keys alone. Checks every hash, size, signature and compressed form, and that the
 * manifest names every file. Throws on the first mistake.
 */
export function readSet(publicDir: string, keys: SigningKeys): ReadSet {
  const target = readlinkSync(join(publicDir, 'current'))
  const root = join(publicDir, target)
  const bytes = readFileSync(join(root, 'snapshot.json'))
  const signed = parseManifestSignature(readFileSync(join(root, 'snapshot.json.sig'), 'utf8'))
  if (signed === null) throw new Error('no manifest signature')
  assertSigned(bytes, signed, keys)
  const manifest = manifestSchema.parse(JSON.parse(bytes.toString()))
  if (sha256(manifestSetText(manifest.documents)) !== manifest.set_sha256) throw new Error('set')
  const named = new Set(['snapshot.json', 'snapshot.json.sig'])
  const bodies = new Map<string, Buffer>()
  for (const entry of manifest.documents)
    bodies.set(entry.path, readEntry(root, entry, keys, named))
  for (const { suffix, decode } of codings) {
    const file = `snapshot.json${suffix}`
    if (!existsSync(join(root, file))) continue
    named.add(file)
    if (!decode(readFileSync(join(root, file))).equals(bytes)) throw new Error(`${file} differs`)
  }
  for (const file of filesBelow(root)) if (!named.has(file)) throw new Error(`${file} is not named`)
  return { manifest, bodies }
}

function readEntry(root: string, entry: ManifestEntry, keys: SigningKeys, named: Set<string>) {
  const body = readFileSync(join(root, entry.file))
  if (body.length !== entry.size || sha256(body) !== entry.sha256) throw new Error(entry.path)
  assertSigned(body, entry, keys)
  named.add(entry.file)
  for (const { coding, suffix, decode } of codings) {
    const form = entry.encodings[coding]
    if (form === undefined) continue
    const encoded = readFileSync(join(root, entry.file + suffix))
    named.add(entry.file + suffix)
    if (sha256(encoded) !== form.sha256 || encoded.length !== form.size) throw new Error(coding)
    if (!decode(encoded).equals(body)) throw new Error(`${entry.path} differs as ${coding}`)
  }
  return body
}

export function assertSigned(
  bytes: Buffer,
  { kid, signature }: { kid: string; signature: string },
  { keys }: SigningKeys,
): void {
  const key = keys.find((each) => each.kid === kid)
  if (key === undefined) throw new Error(`key ${kid} is not listed`)
  const x = Buffer.from(key.public_key, 'base64').toString('base64url')
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  if (!verify(null, bytes, publicKey, Buffer.from(signature, 'base64'))) {
    throw new Error('a signature does not verify')
  }
}

export function filesBelow(root: string): string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .sort()
}

/** Inode and modification time of every file; they are equal only if no file was touched. */
export function touches(root: string): Record<string, string> {
  return Object.fromEntries(
    filesBelow(root).map((file) => {
      const { ino, mtimeMs } = lstatSync(join(root, file))
      return [file, `${ino} ${mtimeMs}`]
    }),
  )
}

/** The distinct versions in the documents of a set, without the constant document. */
export function versionsOf({ bodies }: ReadSet): number[] {
  const versions = new Set<number>()
  for (const [path, body] of bodies) {
    if (path.startsWith('/.well-known/')) continue
    const found = /"version":(\d+)|^v\n(\d+)|^# Version (\d+)/.exec(body.toString())
    versions.add(Number(found?.slice(1).find((group) => group !== undefined)))
  }
  return [...versions]
}

export function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}
