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
  readonly answer: Body
  /** Applies the effect; `answer` is the whole body, for generated ids. */
  readonly write: (state: State, answer: Body) => void
}

export const refused = (...codes: string[]): Verdict => ({ kind: 'refused', codes })
