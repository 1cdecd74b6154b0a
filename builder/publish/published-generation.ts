import { lstatSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

import { sha256Hex } from '../../src/auth/messages.ts'
import type { KeyRing } from '../../src/auth/service-keys.ts'
import {
  CURRENT_LINK,
  GENERATIONS_DIR,
  MANIFEST_FILE,
  MANIFEST_SIGNATURE_FILE,
  encodedFile,
  manifestSchema,
  manifestSetText,
  parseManifestSignature,
} from '../../src/core/documents.ts'
import type { Manifest } from '../../src/core/documents.ts'
import { isErrno } from '../../src/core/errno.ts'
import { statFingerprint } from '../cache/stat-fingerprint.ts'
import { inSlices } from './files.ts'
import type { StagedFiles } from './recycle-generation.ts'

export class DamagedGenerationError extends Error {
  override readonly name = 'DamagedGenerationError'
}

export interface PublishedGeneration {
  readonly generation: number
  readonly directory: string
  readonly manifest: Manifest
  readonly manifestSha256: string
  /** False if another key signed the generation, so that all documents must be signed again. */
  readonly isOurs: boolean
  readonly hashed: number
  /** Files that are missing or differ from the manifest. */
  readonly damaged: ReadonlySet<string>
}

/** Changing a byte changes `ctime`, which is part of the fingerprint. */
export type CheckedFiles = Map<string, { readonly sha256: string; readonly fingerprint: string }>

export interface ParsedManifest {
  last: { readonly bytes: Buffer; readonly manifest: Manifest } | null
}

const LINK_TARGET = new RegExp(`^${GENERATIONS_DIR}/(\\d{8,15})$`)

/** Null before the first publication. @throws DamagedGenerationError if the manifest or its link is damaged */
export async function readPublishedGeneration(
  publicDir: string,
  ring: KeyRing,
  { checked, parsed }: { readonly checked: CheckedFiles; readonly parsed: ParsedManifest },
): Promise<PublishedGeneration | null> {
  const link = join(publicDir, CURRENT_LINK)
  if (lstatSync(link, { throwIfNoEntry: false }) === undefined) return null
  try {
    const target = readlinkSync(link)
    const generation = Number(LINK_TARGET.exec(target)?.[1] ?? Number.NaN)
    if (Number.isNaN(generation)) throw new Error(`it points to ${target}, not to a generation`)
    const directory = join(publicDir, target)
    const read = readManifest(directory, ring, parsed)
    let hashed = 0
    const damaged = new Set<string>()
    await inSlices(filesNamedIn(read.manifest), (named) => {
      if (isKnown(directory, named, checked)) return
      if (!hasHash(directory, named)) damaged.add(named.file)
      hashed += 1
    })
    return { ...read, generation, directory, hashed, damaged }
  } catch (error) {
    throw new DamagedGenerationError(
      `The published set ${link} cannot be read back, so it is not overwritten: ${reasonOf(error)}. ` +
        `Restore it from a backup, or point the link at an older directory in ${GENERATIONS_DIR}/, or remove the ` +
        'link to publish all documents again.',
      { cause: error },
    )
  }
}

function readManifest(directory: string, ring: KeyRing, parsed: ParsedManifest) {
  const bytes = readFileSync(join(directory, MANIFEST_FILE))
  const line = readFileSync(join(directory, MANIFEST_SIGNATURE_FILE), 'utf8')
  const signed = parseManifestSignature(line)
  if (signed === null) throw new Error(`${MANIFEST_SIGNATURE_FILE} does not contain a signature`)
  const verdict = ring.verify(signed.kid, bytes, Buffer.from(signed.signature, 'base64'))
  if (verdict === 'bad') {
    throw new Error(`${MANIFEST_FILE} does not match its signature by ${signed.kid}`)
  }
  const isOurs = verdict === 'good'
  const manifestSha256 = sha256Hex(bytes)
  if (parsed.last?.bytes.equals(bytes) === true) {
    return { manifest: parsed.last.manifest, manifestSha256, isOurs }
  }
  const manifest = manifestSchema.parse(JSON.parse(bytes.toString('utf8')))
  if (sha256Hex(manifestSetText(manifest.documents)) !== manifest.set_sha256) {
    throw new Error(`set_sha256 in ${MANIFEST_FILE} does not match its documents`)
  }
  parsed.last = { bytes, manifest }
  return { manifest, manifestSha256, isOurs }
}

interface NamedFile {
  readonly file: string
  readonly sha256: string
  readonly size: number
}

export function* filesNamedIn({ documents }: Pick<Manifest, 'documents'>): Generator<NamedFile> {
  for (const { file, sha256: hash, size, encodings } of documents) {
    yield { file, sha256: hash, size }
    for (const encoding of ['br', 'gzip'] as const) {
      const form = encodings[encoding]
      if (form !== undefined) yield { file: encodedFile(file, encoding), ...form }
    }
  }
}

function isKnown(directory: string, named: NamedFile, checked: CheckedFiles): boolean {
  const known = checked.get(named.file)
  return (
    known?.sha256 === named.sha256 &&
    known.fingerprint === statFingerprint(`${directory}/${named.file}`)
  )
}

function hasHash(directory: string, { file, sha256: expected, size }: NamedFile): boolean {
  try {
    const bytes = readFileSync(join(directory, file))
    return bytes.length === size && sha256Hex(bytes) === expected
  } catch (error) {
    if (isErrno(error, 'ENOENT') || isErrno(error, 'EIO')) return false
    throw error
  }
}

/** Call after all links are made, since they change `ctime`. Fingerprints of files outside `staged` are still valid. */
export async function rememberChecked(
  directory: string,
  manifest: Manifest,
  checked: CheckedFiles,
  staged: Pick<StagedFiles, 'renewed' | 'touched'> = { renewed: null, touched: null },
): Promise<void> {
  const { renewed, touched } = staged
  const isPartial = renewed !== null && touched !== null
  for (const file of isPartial ? touched : [...checked.keys()]) checked.delete(file)
  await inSlices(filesNamedIn(manifest), ({ file, sha256: hash }) => {
    if (isPartial && !renewed.has(file)) return
    checked.set(file, { sha256: hash, fingerprint: statFingerprint(`${directory}/${file}`) })
  })
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.name === 'ZodError' ? `${MANIFEST_FILE} is not a manifest` : error.message
}
