import { describe, expect, test } from 'vitest'

import {
  createSemaphore,
  createSerialQueue,
  createTickThrottle,
  mapConcurrent,
} from '../../src/core/concurrency.ts'

const flushPromises = async (): Promise<void> => {
  for (let round = 0; round < 20; round += 1) await Promise.resolve()
}

/** Work that waits for `finish` or `fail`, with a record of what has started. */
function manualWork() {
  const started: string[] = []
  const running = new Map<
    string,
    { resolve: (value: string) => void; reject: (error: Error) => void }
  >()
  const gate = (name: string) => {
    const found = running.get(name)
    if (found === undefined) throw new Error(`${name} has not started`)
    return found
  }
  return {
    started,
    work: async (name: string): Promise<string> => {
      started.push(name)
      return await new Promise((resolve, reject) => running.set(name, { resolve, reject }))
    },
    finish: async (name: string): Promise<void> => {
      gate(name).resolve(`${name} done`)
      await flushPromises()
    },
    fail: async (name: string): Promise<void> => {
      gate(name).reject(new Error(`${name} failed`))
      await flushPromises()
    },
  }
}

describe('a semaphore', () => {
  test('a semaphore grants permits first come, first served', async () => {
    const semaphore = createSemaphore(2)
    const { started, work, finish } = manualWork()
    const all = ['a', 'b', 'c', 'd'].map((name) => semaphore.run(() => work(name)))
    await flushPromises()
    expect(started).toEqual(['a', 'b'])
    await finish('b')
    expect(started).toEqual(['a', 'b', 'c'])
    await finish('a')
    await finish('c')
    await finish('d')
    expect(await Promise.all(all)).toEqual(['a done', 'b done', 'c done', 'd done'])
    expect(semaphore.active()).toBe(0)
    expect(semaphore.grants()).toBe(4)
  })

  test('work that fails returns its permit to the semaphore', async () => {
    const semaphore = createSemaphore(1)
    await expect(semaphore.run(() => Promise.reject(new Error('broken')))).rejects.toThrow('broken')
    expect(semaphore.active()).toBe(0)
  })

  test('a semaphore lets no newcomer overtake a waiting caller', async () => {
    const semaphore = createSemaphore(1)
    await semaphore.acquire()
    const next = semaphore.acquire()
    semaphore.release()
    const order: string[] = []
    const newcomer = semaphore.run(async () => void order.push('newcomer'))
    await next
    order.push('next')
    semaphore.release()
    await newcomer
    expect(order).toEqual(['next', 'newcomer'])
  })
})

describe('a caller that waits for a mutex', () => {
  test('a caller that waits for a mutex can withdraw, and the next one gets the permit', async () => {
    const mutex = createSemaphore(1)
    const ends: string[] = []
    let withdraw: (reason: Error) => void = () => undefined
    await mutex.acquire()
    const first = mutex.acquire((leave) => {
      withdraw = leave
      return () => ends.push('first')
    })
    const second = mutex.acquire(() => () => ends.push('second'))
    withdraw(new Error('too late'))
    await expect(first).rejects.toThrow('too late')
    mutex.release()
    await second
    expect(ends).toEqual(['first', 'second'])
    expect(mutex.active()).toBe(1)
  })

  test('a caller that withdraws from a mutex too late keeps the permit', async () => {
    const mutex = createSemaphore(1)
    let withdraw: (reason: Error) => void = () => undefined
    await mutex.acquire()
    const next = mutex.acquire((leave) => {
      withdraw = leave
      return () => undefined
    })
    mutex.release()
    withdraw(new Error('too late'))
    await next
    expect(mutex.active()).toBe(1)
  })
})

test('a serial queue runs work in the order of the calls, also after a failure', async () => {
  const inOrder = createSerialQueue()
  const { started, work, finish, fail } = manualWork()
  const first = inOrder(() => work('first'))
  const second = inOrder(() => work('second'))
  await flushPromises()
  expect(started).toEqual(['first'])
  const failure = first.catch(String)
  await fail('first')
  expect(await failure).toBe('Error: first failed')
  expect(started).toEqual(['first', 'second'])
  await finish('second')
  expect(await second).toBe('second done')
})

describe('mapConcurrent', () => {
  test('mapConcurrent returns results in the order of the items, whichever ends first', async () => {
    const { started, work, finish } = manualWork()
    const mapped = mapConcurrent(new Set(['a', 'b', 'c']), 2, work)
    expect(started).toEqual(['a', 'b'])
    await finish('b')
    expect(started).toEqual(['a', 'b', 'c'])
    await finish('c')
    await finish('a')
    expect(await mapped).toEqual(['a done', 'b done', 'c done'])
  })

  test('mapConcurrent starts nothing after a failure and throws when all running work has ended', async () => {
    const { started, work, finish, fail } = manualWork()
    let isSettled = false
    const mapped = mapConcurrent(['a', 'b', 'c'], 2, work)
    const settled = mapped.catch((error: unknown) => {
      isSettled = true
      return String(error)
    })
    await fail('a')
    expect(isSettled).toBe(false)
    await finish('b')
    expect(await settled).toBe('Error: a failed')
    expect(started).toEqual(['a', 'b'])
  })
})

test('a tick throttle starts at most its number of callers of a key per tick, in order', async () => {
  const ticks: (() => void)[] = []
  const nextTick = createTickThrottle(2, (next) => ticks.push(next))
  const started: number[] = []
  for (const caller of [1, 2, 3, 4, 5]) void nextTick(0).then(() => started.push(caller))
  void nextTick(1).then(() => started.push(6))
  await flushPromises()
  expect(started).toEqual([1, 2, 6])
  for (const expected of [
    [1, 2, 6, 3, 4],
    [1, 2, 6, 3, 4, 5],
  ]) {
    ticks.shift()?.()
    await flushPromises()
    expect(started).toEqual(expected)
  }
  ticks.shift()?.()
  expect(ticks).toEqual([])
})
