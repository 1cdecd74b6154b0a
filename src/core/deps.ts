/** External effects as values: only `src/main.ts` and `builder/main.ts` create the real ones. */

export interface Clock {
  /** Unix milliseconds. Read once per operation. */
  readonly now: () => number
  /** Milliseconds of a monotonic clock, for durations only. */
  readonly monotonic: () => number
  /** Resolves after `delayMs`, or rejects with the signal's reason. */
  readonly sleep: (delayMs: number, signal?: AbortSignal) => Promise<void>
}

export interface Random {
  readonly bytes: (length: number) => Uint8Array
  /** Returns a uniform number in [0, 1). Use it for jitter, never for secrets. */
  readonly unit: () => number
}

export type Fetch = (input: string | URL, init?: RequestInit) => Promise<Response>

export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>

export type Log = Readonly<
  Record<'debug' | 'info' | 'warn' | 'error', (message: string, fields?: LogFields) => void>
>
