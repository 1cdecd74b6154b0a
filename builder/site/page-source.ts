import type { SitePage } from '../../src/pages/page.ts'
import { memoizeByParts } from '../world/memoize-by-parts.ts'
import type { World } from '../world/world.ts'

export type PageSource = () => (world: World) => readonly SitePage[]

/** One or several pages, described again only if a part of the world that they show has changed. */
export function pageSource<Part extends keyof World>(
  parts: readonly Part[],
  describe: (world: Pick<World, NoInfer<Part>>) => SitePage | Iterable<SitePage>,
): PageSource {
  return () =>
    memoizeByParts(parts, (world) => {
      const pages = describe(world)
      return Symbol.iterator in pages ? [...pages] : [pages]
    })
}
