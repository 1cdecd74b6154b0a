import { setTimeout as delay } from 'node:timers/promises'

import type { Clock } from '../core/deps.ts'
import { secondMs } from '../core/time.ts'

export interface TimeLimit {
  readonly timeoutMs: number
  readonly clock?: Pick<Clock, 'sleep'>
  /** Ends the work early with the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

export class TimeoutError extends Error {
  override readonly name = 'TimeoutError'

  constructor(timeoutMs: number) {
    super(`no complete response within ${timeoutMs / secondMs} s`)
  }
}

export function outageText(error: unknown): string {
  return error instanceof TimeoutError ? 'did not respond in time' : 'is unavailable'
}

/**
 * The signal passed to the work aborts at the limit, on the caller's signal and at the end. The result is raced against
 * it, since `fetch` and `AbortSignal.any` may lose an abort between headers and body (nodejs/undici#4068).
 * @throws TimeoutError, the reason of `signal`, or the error of the work
 */
export async function withTimeout<Result>(
  limit: TimeLimit,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  return await withTimeoutAwaited(limit, async (signal) => {
    return await Promise.race([work(signal), aborted(signal)])
  })
}

/** Waits until the work has ended, so that it cannot overlap with later work. A late result is also returned. */
export async function withTimeoutAwaited<Result>(
  { timeoutMs, clock = realTime, signal }: TimeLimit,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  signal?.throwIfAborted()
  const stop = new AbortController()
  const giveUp = () => stop.abort(signal === undefined ? undefined : reasonOf(signal))
  signal?.addEventListener('abort', giveUp, { once: true })
  try {
    // Runs before the timer starts, since test clocks identify a limit by the caller of its signal.
    const working = work(stop.signal)
    const late = () => stop.abort(new TimeoutError(timeoutMs))
    clock.sleep(timeoutMs, stop.signal).then(late, () => undefined)
    return await working
  } catch (error) {
    stop.signal.throwIfAborted()
    throw error
  } finally {
    signal?.removeEventListener('abort', giveUp)
    stop.abort(ended)
  }
}

/** One error, since a reason for each call would cost as much as a small request. */
const ended = new Error('the work has ended')

async function aborted(signal: AbortSignal): Promise<never> {
  return await new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(reasonOf(signal)), { once: true })
  })
}

const realTime: Pick<Clock, 'sleep'> = {
  sleep: async (delayMs, signal) => await delay(delayMs, undefined, { signal, ref: false }),
}

function reasonOf(signal: AbortSignal): Error {
  const reason: unknown = signal.reason
  return reason instanceof Error ? reason : new Error('The request was cancelled')
}
