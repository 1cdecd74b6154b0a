import { createSemaphore } from '../core/concurrency.ts'

/** Leaves threads for hashing and compression; each image takes about 25 ms. */
const MAX_CONCURRENT = 2

/** Converts SVG to PNG in the order of the calls, off the event loop. */
export function createRasterizer(): (svg: string) => Promise<Uint8Array<ArrayBuffer>> {
  const { run } = createSemaphore(MAX_CONCURRENT)
  return (svg) =>
    run(async () => {
      // Loaded on first use: 20 MB, 100 ms.
      const { default: sharp } = await import('sharp')
      return new Uint8Array(await sharp(Buffer.from(svg, 'utf8')).png().toBuffer())
    })
}
