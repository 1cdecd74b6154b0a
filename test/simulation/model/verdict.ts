/** The outcomes that a request may have. */
import type { State } from './state.ts'

export type Body = Readonly<Record<string, unknown>>

export type Verdict =
  | { readonly kind: 'refused'; readonly codes: readonly string[] }
  | { readonly kind: 'repeat'; readonly status: number; readonly body: Body }
  | Success

export interface Success {
  readonly kind: 'success'
  readonly status: number
  /** Members that the answer must have. */
  readonly answer: Body
  /** Writes what follows; `answer` is the whole answer, for what the ledger names itself. */
  readonly write: (state: State, answer: Body) => void
}

export const refused = (...codes: string[]): Verdict => ({ kind: 'refused', codes })
