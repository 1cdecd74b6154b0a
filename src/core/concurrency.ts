/** Bounds for work that runs at the same time: promises only, no timers and no clock. */

/**
 * Called for a caller that has to wait. `withdraw` takes it out of the queue and rejects its `acquire`; it does nothing
 * once the wait is over. The function that is returned is called when the wait ends, whichever way.
 */
export type OnWait = (withdraw: (reason: Error) => void) => () => void

/** A number of permits, granted first come, first served. Each permit that was granted needs one `release`. */
export interface Semaphore {
  /** Resolves when the caller has a permit; synchronously taken where one is free. */
  readonly acquire: (onWait?: OnWait) => Promise<void>
  /** Takes a free permit and returns true, or returns false without waiting. */
  readonly tryAcquire: () => boolean
  /** Hands the permit to the caller that has waited longest. */
  readonly release: () => void
  /** Does the work with a permit. */
  readonly run: <Result>(work: () => Promise<Result>) => Promise<Result>
  /** Permits in use now. */
  readonly active: () => number
  /** Permits granted so far. Two equal readings mean that the holders are still the same. */
  readonly grants: () => number
}

export function createSemaphore(permits: number): Semaphore {
  const waiting = new Set<() => void>()
  let active = 0
  let grants = 0

  function tryAcquire(): boolean {
    if (active >= permits) return false
    active += 1
    grants += 1
    return true
  }

  async function acquire(onWait?: OnWait): Promise<void> {
    if (tryAcquire()) return
    await new Promise<void>((resolve, reject) => {
      const endWait = onWait?.((reason) => {
        if (!waiting.delete(grant)) return
        endWait?.()
        reject(reason)
      })
      const grant = (): void => {
        endWait?.()
        resolve()
      }
      waiting.add(grant)
    })
  }

  function release(): void {
    for (const grant of waiting) {
      waiting.delete(grant)
      grants += 1
      grant()
      return
    }
    active -= 1
  }

  return {
    acquire,
    tryAcquire,
    release,
    run: async (work) => {
      await acquire()
      try {
        return await work()
      } finally {
        release()
      }
    },
    active: () => active,
    grants: () => grants,
  }
}

/** A semaphore with one permit. */
export function createMutex(): Semaphore {
  return createSemaphore(1)
}

/** Runs work in the order of the calls, each when the one before has ended. A failure stops nothing that follows. */
export function createSerialQueue(): Semaphore['run'] {
  return createMutex().run
}

/**
 * Maps items with at most `limit` calls of `work` at a time and returns the results in the order of the items. After a
 * failure nothing further starts; the first failure is thrown when all that had started has ended.
 */
export async function mapConcurrent<Item, Result>(
  items: Iterable<Item>,
  limit: number,
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const all = [...items]
  const queue = all.entries()
  const results: Result[] = []
  const failures: unknown[] = []
  const runNext = async (): Promise<void> => {
    for (const [index, item] of queue) {
      if (failures.length > 0) return
      try {
        results[index] = await work(item)
      } catch (error) {
        failures.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(limit, all.length) }, runNext))
  if (failures.length > 0) throw failures[0]
  return results
}

/**
 * Lets `perTick` callers go on in each tick; the others wait in order.
 * @param defer runs a function in the next tick, such as `setImmediate`
 */
export function createTickThrottle(
  perTick: number,
  defer: (next: () => void) => void,
): () => Promise<void> {
  const waiting: (() => void)[] = []
  let started = 0
  const tick = (): void => {
    const batch = waiting.splice(0, perTick)
    started = batch.length
    if (started > 0) defer(tick)
    for (const start of batch) start()
  }
  return () => {
    if (started >= perTick) return new Promise((resolve) => waiting.push(resolve))
    if (started === 0) defer(tick)
    started += 1
    return Promise.resolve()
  }
}
