import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'

import { getMimeType, mimes } from 'hono/utils/mime'

import { pruneMissing } from '../cache/memoize.ts'
import { statFingerprint } from '../cache/stat-fingerprint.ts'
import type { PublicDocument } from './document.ts'

const maxAgeSeconds = 300

export type KnownAssets = Map<
  string,
  { readonly fingerprint: string; readonly document: PublicDocument }
>

const CONTENT_TYPES = {
  ...mimes,
  csv: 'text/csv; charset=utf-8; header=present',
  md: 'text/markdown; charset=utf-8',
  sqlite: 'application/vnd.sqlite3',
  svg: 'image/svg+xml',
  xml: 'application/xml',
}

/** Files are published under their own paths, except hidden files. @throws Error for a file of an unknown type */
export async function readAssets(
  dir: string,
  known: KnownAssets = new Map(),
): Promise<PublicDocument[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(dir, '/').length))
    .filter((file) => file.split('/').every((part) => !part.startsWith('.')))
    .sort()
  const assets: PublicDocument[] = []
  for (const file of files) {
    const fingerprint = statFingerprint(join(dir, file))
    const before = known.get(file)
    const document =
      before?.fingerprint === fingerprint ? before.document : await readAsset(dir, file)
    known.set(file, { fingerprint, document })
    assets.push(document)
  }
  pruneMissing(known, new Set(files))
  return assets
}

async function readAsset(dir: string, file: string): Promise<PublicDocument> {
  const described = { path: `/${file}`, contentType: contentTypeOf(file), maxAgeSeconds }
  return { ...described, body: { bytes: await readFile(join(dir, file)) }, archive: null }
}

export function contentTypeOf(file: string): string {
  const type = getMimeType(file, CONTENT_TYPES)
  if (type === undefined) throw new Error(`no content type is known for the asset ${file}`)
  return type
}
