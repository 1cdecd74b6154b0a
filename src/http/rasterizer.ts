import { createSemaphore } from '../core/concurrency.ts'

/** Each picture takes about 25 ms of a core; hashing and compression share the threads. */
const MAX_CONCURRENT = 2

/** Converts SVG to PNG in the order of the calls, off the event loop. */
export function createRasterizer(): (svg: string) => Promise<Uint8Array<ArrayBuffer>> {
  const { run } = createSemaphore(MAX_CONCURRENT)
  return (svg) =>
    run(async () => {
      // Loaded on first use: it takes 20 MB and a tenth of a second.
      const { default: sharp } = await import('sharp')
      return new Uint8Array(await sharp(Buffer.from(svg, 'utf8')).png().toBuffer())
    })
}
