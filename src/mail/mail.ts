/** Letters that the service sends. Types only. */

export interface Letter {
  readonly to: string
  readonly subject: string
  /** Plain text. */
  readonly text: string
}

/** Resolves when the letter is in the hands of who delivers it. Rejects where nobody took it. */
export type Mail = (letter: Letter) => Promise<void>
