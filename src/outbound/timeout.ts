/** The end of waiting for others: an answer that does not come whole within its time is given up, whatever it does. */
import { setTimeout as delay } from 'node:timers/promises'

import type { Clock } from '../core/deps.ts'
import { secondMs } from '../core/time.ts'

export interface TimeLimit {
  readonly timeoutMs: number
  /** Real time unless told: whoever answers over a network keeps to no other. */
  readonly clock?: Pick<Clock, 'sleep'>
  /** Ends the work before its time; what is thrown then is the signal's reason. */
  readonly signal?: AbortSignal | undefined
}

/** No whole answer came within the time that was given. */
export class TimeoutError extends Error {
  override readonly name = 'TimeoutError'

  constructor(timeoutMs: number) {
    super(`no complete answer within ${timeoutMs / secondMs} s`)
  }
}

/**
 * What the work comes to. Its signal aborts when the time is over, when the caller gives up and when it has ended, but
 * nothing here waits for the work to heed it: `fetch` may lose its hold on a signal between the headers of an answer and
 * its last byte, and so may `AbortSignal.any` on those that it joins (nodejs/undici#4068).
 * @throws TimeoutError; the reason of `signal`; what the work throws
 */
export async function withTimeout<Result>(
  limit: TimeLimit,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  return await withTimeoutAwaited(limit, async (signal) => {
    return await Promise.race([work(signal), aborted(signal)])
  })
}

/**
 * As `withTimeout`, for work of which each step heeds the signal, and that must not go on beside what comes after it: it is
 * waited for, and what it comes to in spite of the signal counts.
 */
export async function withTimeoutAwaited<Result>(
  { timeoutMs, clock = realTime, signal }: TimeLimit,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  signal?.throwIfAborted()
  const stop = new AbortController()
  const giveUp = () => stop.abort(signal === undefined ? undefined : reasonOf(signal))
  signal?.addEventListener('abort', giveUp, { once: true })
  try {
    // Before the clock: what stands in for one may know limits by who was given their signal.
    const working = work(stop.signal)
    const late = () => stop.abort(new TimeoutError(timeoutMs))
    clock.sleep(timeoutMs, stop.signal).then(late, () => undefined)
    return await working
  } catch (error) {
    stop.signal.throwIfAborted()
    throw error
  } finally {
    signal?.removeEventListener('abort', giveUp)
    stop.abort()
  }
}

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
  return reason instanceof Error ? reason : new Error('The request was ended')
}
