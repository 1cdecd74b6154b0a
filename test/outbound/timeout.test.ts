import { getEventListeners } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'

import { describe, expect, test } from 'vitest'

import { TimeoutError, withTimeout, withTimeoutAwaited } from '../../src/outbound/timeout.ts'

/** Returns work that runs until its signal aborts, and records its end in `done`. */
function untilAborted(done: string[]) {
  return async (signal: AbortSignal): Promise<string> => {
    await new Promise((resolve) => {
      signal.addEventListener('abort', resolve, { once: true })
    })
    await delay(20)
    done.push('tidied up')
    throw new Error('its own')
  }
}

describe('withTimeout', () => {
  test('withTimeout rejects although the work ignores its signal', async () => {
    const deaf = withTimeout({ timeoutMs: 20 }, async () => await new Promise(() => undefined))
    await expect(deaf).rejects.toThrow('no complete response within 0.02 s')
  })

  test('withTimeoutAwaited waits for the work and rejects with TimeoutError', async () => {
    const done: string[] = []
    await expect(withTimeoutAwaited({ timeoutMs: 20 }, untilAborted(done))).rejects.toThrow(
      TimeoutError,
    )
    expect(done).toEqual(['tidied up'])
  })

  test("withTimeout and withTimeoutAwaited reject with the reason of the caller's signal", async () => {
    for (const limit of [withTimeout, withTimeoutAwaited]) {
      const outer = new AbortController()
      const asked = limit({ timeoutMs: 60_000, signal: outer.signal }, untilAborted([]))
      outer.abort(new Error('stopped'))
      await expect(asked).rejects.toThrow('stopped')
      await expect(limit({ timeoutMs: 1, signal: outer.signal }, untilAborted([]))).rejects.toThrow(
        'stopped',
      )
    }
  })

  test('withTimeout returns the result of the work and removes its listener', async () => {
    const { signal } = new AbortController()
    const limit = { timeoutMs: 60_000, signal }
    expect(await withTimeout(limit, async () => await Promise.resolve('done'))).toBe('done')
    await expect(withTimeout(limit, () => Promise.reject(new Error('broken')))).rejects.toThrow(
      'broken',
    )
    const thrown = (): Promise<never> => {
      throw new Error('at once')
    }
    await expect(withTimeout(limit, thrown)).rejects.toThrow('at once')
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})
