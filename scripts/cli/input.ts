import { z } from 'zod'

export interface Input {
  readonly text: (name: string) => string | undefined
  /** The empty string if the argument is missing. */
  readonly required: (name: string) => string
  readonly list: (name: string) => readonly string[]
  readonly flag: (name: string) => boolean
}

/** The command line is invalid, or a file or key cannot be used. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Runs `work`. An error of class `kind` becomes a usage error. */
export function orUsageError<T>(
  kind: abstract new (...args: never[]) => Error,
  work: () => T,
  prefix = '',
): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof kind) throw new UsageError(`${prefix}${error.message}`)
    throw error
  }
}

/** @throws UsageError that begins with `problem` and names each member that does not fit */
export function parseOrUsageError<T>(schema: z.ZodType<T>, value: unknown, problem: string): T {
  const { data, error } = schema.safeParse(value)
  if (error === undefined) return data
  throw new UsageError(`${problem}${z.prettifyError(error)}`)
}

export function textsOf(values: object): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]))
}
