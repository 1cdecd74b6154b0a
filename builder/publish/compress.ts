/** Compressed forms of a document, made once when it changes and served as they are. */
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

import type { Encoding } from '../../src/core/documents.ts'

/** Below this a body and its headers leave in the same packets with a coding or without. */
const MIN_BYTES = 1024
/** Over a whole set, quality 9 costs five times as much for a tenth less. */
const BROTLI_QUALITY = 6
/** Level 9 takes two and a half times as long for two per cent less. */
const GZIP_LEVEL = 6
/** RFC 7932 section 9.1; 22 is what encoders take where nothing is said. */
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

/**
 * The codings whose bytes are fewer than the document's own.
 * @param brotliQuality 0 to 11
 */
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

/** As much as the whole body and no more: the memory of a window is cleared for each body, however small. */
function windowBits(size: number): number {
  return Math.min(MOST_WINDOW_BITS, Math.max(LEAST_WINDOW_BITS, Math.ceil(Math.log2(size + 16))))
}
