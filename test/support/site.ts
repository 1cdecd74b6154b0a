/** The documents and preview images of one world, derived without memory of an earlier world. */
import { createSnapshots } from '../../builder/documents/index.ts'
import { renderBody } from '../../builder/publish/document.ts'
import type { PublicDocument } from '../../builder/publish/document.ts'
import type { Drawing } from '../../builder/site/share-images.ts'
import { createSharedPages } from '../../builder/site/share.ts'
import { createSite } from '../../builder/site/site-documents.ts'
import type { World } from '../../builder/world/world.ts'

export function siteOf(
  world: World,
  shareImages: readonly PublicDocument[] = [],
): readonly PublicDocument[] {
  return createSite()(world, shareImages)
}

export function documentsOf(world: World): readonly PublicDocument[] {
  return createSnapshots()(world)
}

export function sharedPages(world: World): readonly Drawing[] {
  return createSharedPages()(world)
}

export function textOf(document: PublicDocument, stamp = ''): string {
  return Buffer.from(renderBody(document, stamp)).toString('utf8')
}

export function textAt(path: string, documents: readonly PublicDocument[], stamp = ''): string {
  const document = documents.find((candidate) => candidate.path === path)
  if (document === undefined) throw new Error(`no document ${path}`)
  return textOf(document, stamp)
}
