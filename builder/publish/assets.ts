import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'

import { getMimeType, mimes } from 'hono/utils/mime'

import { CURRENT_LINK, GENERATIONS_DIR } from '../../src/core/documents.ts'
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
  svg: 'image/svg+xml',
  xml: 'application/xml',
}

/** Skips hidden files except `.well-known`, and published sets. @throws Error for a file of an unknown type */
export async function readAssets(
  dir: string,
  known: KnownAssets = new Map(),
): Promise<PublicDocument[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(dir, '/').length))
    .filter((file) =>
      file.split('/').every((part) => !part.startsWith('.') || part === '.well-known'),
    )
    .filter((file) => ![GENERATIONS_DIR, CURRENT_LINK].some((set) => file.startsWith(`${set}/`)))
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
  const described = { path: assetPath(file), contentType: contentTypeOf(file), maxAgeSeconds }
  return { ...described, body: { bytes: await readFile(join(dir, file)) }, archive: null }
}

function assetPath(file: string): string {
  const page = file.endsWith('.html') ? file.slice(0, -'.html'.length) : file
  if (page === 'index') return '/'
  return `/${page.endsWith('/index') ? page.slice(0, -'/index'.length) : page}`
}

export function contentTypeOf(file: string): string {
  const type = getMimeType(file, CONTENT_TYPES)
  if (type === undefined) throw new Error(`no content type is known for the asset ${file}`)
  return type
}
