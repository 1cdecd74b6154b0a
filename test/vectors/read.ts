import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'

import type { z } from 'zod'

/** The bytes of a vector file, unpacked where its name ends in `.gz`. */
export function readVector(path: string): Buffer {
  const bytes = readFileSync(join(import.meta.dirname, path))
  return path.endsWith('.gz') ? gunzipSync(bytes) : bytes
}

/** A vector file of JSON in the shape that a test expects of it. */
export function readVectors<T extends z.ZodType>(path: string, schema: T): z.output<T> {
  return schema.parse(JSON.parse(readVector(path).toString('utf8')))
}
