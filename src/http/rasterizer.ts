/** SVG to PNG. What is drawn here is our own: nothing of a caller's but names as text. */

/** Each takes about 25 ms of a core; the threads that hash and compress have to come in between. */
const AT_ONCE = 2

/** Draws in the order of asking, a few at a time, beside the event loop. */
export function createRasterizer(): (svg: string) => Promise<Uint8Array<ArrayBuffer>> {
  let running = 0
  const waiting: (() => void)[] = []
  return async (svg) => {
    if (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve))
    else running += 1
    try {
      // Loaded only where somebody asks: it takes 20 MB and a tenth of a second.
      const { default: sharp } = await import('sharp')
      return new Uint8Array(await sharp(Buffer.from(svg, 'utf8')).png().toBuffer())
    } finally {
      const next = waiting.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }
}
