import { createSemaphore } from '../core/concurrency.ts'
import { remember } from '../core/remember.ts'

type Png = Uint8Array<ArrayBuffer>

/** Leaves threads for hashing and compression; each image takes about 25 ms. */
const MAX_CONCURRENT = 2
/** About 10 MB. */
const MAX_KEPT = 128

/** Converts SVG to PNG off the event loop, and keeps the images used last. Concurrent calls share an image, but no error. */
export function createPngRenderer(): (svg: string) => Promise<Png> {
  const { run } = createSemaphore(MAX_CONCURRENT)
  const kept = new Map<string, Promise<Png>>()
  const render = async (svg: string): Promise<Png> => {
    // Loaded on first use: 20 MB, 100 ms.
    const { default: sharp } = await import('sharp')
    return new Uint8Array(await sharp(Buffer.from(svg, 'utf8')).png().toBuffer())
  }
  return async (svg) => {
    const png = kept.get(svg) ?? run(() => render(svg))
    remember(kept, svg, png, MAX_KEPT)
    try {
      return await png
    } catch (error) {
      kept.delete(svg)
      throw error
    }
  }
}
