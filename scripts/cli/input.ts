/** The arguments of one command line, checked against the command. */
export interface Input {
  readonly operand: (name: string) => string
  readonly text: (name: string) => string | undefined
  /** An option that the command requires; empty where it does not. */
  readonly required: (name: string) => string
  readonly list: (name: string) => readonly string[]
  readonly flag: (name: string) => boolean
}

/** The command line is wrong, or a file or key that it names cannot be used. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
