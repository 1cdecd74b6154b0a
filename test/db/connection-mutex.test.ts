import { afterEach, beforeEach, expect, test, vi } from 'vitest'

import { createConnectionMutex } from '../../src/db/connection-mutex.ts'
import type { ConnectionMutex } from '../../src/db/connection-mutex.ts'
import { ConnectionHeldError } from '../../src/db/errors.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

function acquiring(mutex: ConnectionMutex): { readonly state: () => string } {
  let state = 'waiting'
  mutex.acquire().then(
    () => (state = 'taken'),
    (error: unknown) => (state = error instanceof ConnectionHeldError ? 'refused' : 'failed'),
  )
  return { state: () => state }
}

test('a connection mutex refuses waiters only after one holder kept it for the whole limit', async () => {
  const mutex = createConnectionMutex(1000)
  const [holder, early] = [acquiring(mutex), acquiring(mutex)]
  await vi.advanceTimersByTimeAsync(600)
  const late = acquiring(mutex)
  await vi.advanceTimersByTimeAsync(500)
  expect([holder.state(), early.state(), late.state()]).toEqual(['taken', 'refused', 'waiting'])
  mutex.release()
  await vi.advanceTimersByTimeAsync(1)
  expect(late.state()).toBe('taken')
  mutex.release()
  expect(vi.getTimerCount()).toBe(0)
})

test('a connection mutex refuses no waiter while its queue moves', async () => {
  const mutex = createConnectionMutex(1000)
  acquiring(mutex)
  const attempts = Array.from({ length: 10 }, () => acquiring(mutex))
  for (const attempt of attempts) {
    await vi.advanceTimersByTimeAsync(900)
    expect(attempt.state()).toBe('waiting')
    mutex.release()
    await vi.advanceTimersByTimeAsync(0)
    expect(attempt.state()).toBe('taken')
  }
})

test('a connection mutex refuses a waiter when a later holder keeps it for the whole limit', async () => {
  const mutex = createConnectionMutex(1000)
  const [, second, third] = [acquiring(mutex), acquiring(mutex), acquiring(mutex)]
  await vi.advanceTimersByTimeAsync(900)
  mutex.release()
  await vi.advanceTimersByTimeAsync(900)
  expect([second.state(), third.state()]).toEqual(['taken', 'waiting'])
  await vi.advanceTimersByTimeAsync(300)
  expect(third.state()).toBe('refused')
})
