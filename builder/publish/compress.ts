import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

import type { Encoding } from '../../src/core/documents.ts'

/** Smaller bodies fit into the same packets uncompressed. */
const MIN_BYTES = 1024
/** Quality 9 takes five times as long to save a tenth more. */
const BROTLI_QUALITY = 6
/** Level 9 takes 2.5 times as long to save 2 % more. */
const GZIP_LEVEL = 6
/** RFC 7932 section 9.1; 22 is the default of encoders. */
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
  brotliQuality = BROTLI_QUALITY,
): Promise<readonly Encoded[]> {
  if (bytes.length < MIN_BYTES || !COMPRESSIBLE.test(contentType)) return []
  const br = await brotliAsync(bytes, {
    params: {
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_QUALITY]: brotliQuality,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
      [constants.BROTLI_PARAM_LGWIN]: windowBits(bytes.length),
    },
  })
  const gz = await gzipAsync(bytes, { level: GZIP_LEVEL })
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
