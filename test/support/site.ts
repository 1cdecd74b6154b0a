/** The documents and preview images of one world, derived without memory of an earlier world. */
import type { PublicDocument } from '../../builder/publish/document.ts'
import type { Drawing } from '../../builder/publish/share-images.ts'
import { createSharedPages } from '../../builder/site/share.ts'
import { createSite } from '../../builder/site/site-documents.ts'
import type { World } from '../../builder/world/world.ts'

export function siteOf(
  world: World,
  shareImages: readonly PublicDocument[] = [],
): readonly PublicDocument[] {
  return createSite()(world, shareImages)
}

export function sharedPages(world: World): readonly Drawing[] {
  return createSharedPages()(world)
}
