/** What was typed, checked against the command: required options are there, flags have no value. */
export interface Input {
  readonly operand: (name: string) => string
  readonly text: (name: string) => string | undefined
  /** An option that the table says is required. */
  readonly needed: (name: string) => string
  readonly list: (name: string) => readonly string[]
  readonly flag: (name: string) => boolean
}

/** What was typed cannot be done as it stands. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}
