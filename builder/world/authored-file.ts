/** Checks of files written by people. Errors name the file and the field. */
import { readFile } from 'node:fs/promises'

import type { z } from 'zod'

/** `part`: name of the value, if it is only a part of the file. @throws Error that names the fields */
export function checkedPart<T>(path: string, schema: z.ZodType<T>, value: unknown, part = ''): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map((issue) => {
    const field = [...(part === '' ? [] : [part]), ...issue.path.map(String)].join('.')
    return `${field === '' ? '(whole file)' : field}: ${issue.message}`
  })
  throw new Error(`${path}: ${problems.join('; ')}`)
}

export async function readJsonFile<T>(path: string, schema: z.ZodType<T>): Promise<T> {
  return checkedPart(path, schema, parseJson(path, await readFile(path, 'utf8')))
}

function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error(`${path}: not JSON`, { cause: error })
  }
}
