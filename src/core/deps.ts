/**
 * The outside world as values. Only the two `main.ts` make the real ones; everything else is given them.
 * Types only, so that no knot of imports can form here.
 */

export interface Clock {
  /** Milliseconds since the Unix epoch. Read once per operation and passed on. */
  readonly now: () => number
  /** Milliseconds of a clock that never goes back; for durations only. */
  readonly monotonic: () => number
  /** Resolves after `delayMs`, or rejects with the signal's reason. */
  readonly sleep: (delayMs: number, signal?: AbortSignal) => Promise<void>
}

export interface Random {
  readonly bytes: (length: number) => Uint8Array
  /** Uniform in [0, 1); for jitter, never for secrets. */
  readonly unit: () => number
}

export type Fetch = (input: string | URL, init?: RequestInit) => Promise<Response>

export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>

export interface Log {
  readonly debug: (message: string, fields?: LogFields) => void
  readonly info: (message: string, fields?: LogFields) => void
  readonly warn: (message: string, fields?: LogFields) => void
  readonly error: (message: string, fields?: LogFields) => void
}
