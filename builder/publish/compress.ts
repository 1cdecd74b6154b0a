import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

import type { Encoding } from '../../src/core/documents.ts'

/** Smaller bodies are not compressed, since compression would not reduce the number of packets. */
const MIN_BYTES = 1024
/** Compared with 6, brotli 9 takes five times as long for 10 % and gzip 9 takes 2.5 times as long for 2 %. */
const USUAL_LEVELS = { brotli: 6, gzip: 6 }
/** Large bodies take the most time, and 4 takes 60 % of it for 4 to 6 % more bytes. */
const LARGE_BODY_BYTES = 100_000
const LARGE_BODY_LEVELS = { brotli: 4, gzip: 4 }
/** Range of the window size (RFC 7932, section 9.1); encoders use 22 by default. */
const LEAST_WINDOW_BITS = 10
const MOST_WINDOW_BITS = 22
const COMPRESSIBLE =
  /^(?:text\/|application\/(?:[a-z.-]+\+)?(?:json|xml|javascript)\b|image\/svg\+xml)/

const brotliAsync = promisify(brotliCompress)
const gzipAsync = promisify(gzip)

export interface Encoded {
  readonly encoding: Encoding
  readonly bytes: Uint8Array
}

export async function compress(
  bytes: Uint8Array,
  contentType: string,
  levels = bytes.length > LARGE_BODY_BYTES ? LARGE_BODY_LEVELS : USUAL_LEVELS,
): Promise<readonly Encoded[]> {
  if (bytes.length < MIN_BYTES || !COMPRESSIBLE.test(contentType)) return []
  const br = await brotliAsync(bytes, {
    params: {
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_QUALITY]: levels.brotli,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      [constants.BROTLI_PARAM_LGWIN]: windowBits(bytes.length),
    },
  })
  const gz = await gzipAsync(bytes, { level: levels.gzip })
  const forms: Encoded[] = [
    { encoding: 'br', bytes: br },
    { encoding: 'gzip', bytes: gz },
  ]
  return forms.filter((form) => form.bytes.length < bytes.length)
}

/** The window is as large as the body, since a larger window takes longer to clear. */
function windowBits(size: number): number {
  return Math.min(MOST_WINDOW_BITS, Math.max(LEAST_WINDOW_BITS, Math.ceil(Math.log2(size + 16))))
}
