/** Renders PNG share images when their drawing changes and stores them by the hash of the drawing. */
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

import { z } from 'zod'

import { sha256Hex } from '../../src/auth/messages.ts'
import { canonicalize } from '../../src/core/canonical-json.ts'
import { mapConcurrent } from '../../src/core/concurrency.ts'
import { replaceFile } from '../../src/files/durable.ts'
import { memoizeEach } from '../cache/memoize.ts'
import type { PublicDocument } from '../publish/document.ts'
import { namesIn, readFitting } from '../publish/store/files.ts'

export interface Drawing {
  readonly image: string
  readonly svg: string
}

/** File name by path of the image. */
const indexSchema = z.record(z.string(), z.string().regex(/^[0-9a-f]{64}$/))
/** Part of every file name: a new renderer invalidates all images. */
const renderer = 'sharp png 1'
const maxAgeSeconds = 300
/** A second concurrent render would need 50 MB more. */
const rendersAtOnce = 1

export async function readShareImages(dir: string, drawings: readonly Drawing[]) {
  const index = await readIndex(dir)
  const documents: PublicDocument[] = []
  const pending: Drawing[] = []
  for (const drawing of drawings) {
    const name = index[drawing.image]
    const isThere = name !== undefined && existsSync(fileOf(dir, name))
    if (isThere) documents.push(documentOf(drawing.image, dir, name))
    if (!isThere || name !== nameOf(drawing)) pending.push(drawing)
  }
  return { documents, pending }
}

async function readIndex(dir: string): Promise<z.infer<typeof indexSchema>> {
  return (await readFitting(join(dir, indexFile), indexSchema)) ?? {}
}

/**
 * Rendering takes 25 ms of CPU time per image. Replaced images stay until the next rendering, since the set that
 * contains them stays published if this one fails.
 */
export async function renderShareImages(
  dir: string,
  drawings: readonly Drawing[],
  pending: readonly Drawing[],
): Promise<void> {
  await mkdir(dir, { recursive: true })
  // Loaded on demand, since loading takes 20 MB of memory and 100 ms.
  const { default: sharp } = await import('sharp')
  sharp.cache(false)
  await mapConcurrent(pending, rendersAtOnce, async (drawing) => {
    const png = await sharp(Buffer.from(drawing.svg, 'utf8')).png().toBuffer()
    await replaceFile(fileOf(dir, nameOf(drawing)), png, 0o644)
  })
  const replaced = await readIndex(dir)
  const index = Object.fromEntries(drawings.map((drawing) => [drawing.image, nameOf(drawing)]))
  await replaceFile(join(dir, indexFile), canonicalize(index), 0o644)
  const images = [...Object.values(replaced), ...Object.values(index)]
  const kept = new Set([indexFile, ...images.map((name) => `${name}.png`)])
  for (const name of await namesIn(dir)) if (!kept.has(name)) await rm(join(dir, name))
}

const indexFile = 'index.json'

const nameOf = memoizeEach(({ svg }: Drawing) => sha256Hex(`${renderer}\n${svg}`))

function fileOf(dir: string, name: string): string {
  return join(dir, `${name}.png`)
}

function documentOf(path: string, dir: string, name: string): PublicDocument {
  const make = () => ({ bytes: readFileSync(fileOf(dir, name)) })
  const body = { revision: name, make }
  return { path, contentType: 'image/png', maxAgeSeconds, body, archive: null }
}
