import type { Clock } from './deps.ts'

/** Called when `acquire` must wait. `withdraw` rejects the `acquire`. The returned function runs after the wait. */
export type OnWait = (withdraw: (reason: Error) => void) => () => void

export type Semaphore = ReturnType<typeof createSemaphore>

/** Grants permits in order of arrival. Each granted permit needs one `release`. */
export function createSemaphore(permits: number) {
  const waiting = new Set<() => void>()
  let active = 0
  let grants = 0

  /** Takes a free permit synchronously. */
  async function acquire(onWait?: OnWait): Promise<void> {
    if (active < permits) {
      active += 1
      grants += 1
      return
    }
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
    release,
    run: async <Result>(work: () => Promise<Result>): Promise<Result> => {
      await acquire()
      try {
        return await work()
      } finally {
        release()
      }
    },
    active: () => active,
    /** Number of permits granted so far. Two equal readings mean that no permit was granted in between. */
    grants: () => grants,
  }
}

/** Runs work in the order of the calls. A failed call does not stop later calls. */
export function createSerialQueue(): Semaphore['run'] {
  return createSemaphore(1).run
}

/** Does the work after each pause until the signal aborts. */
export async function repeatEvery(
  pauseMs: number,
  work: () => Promise<void>,
  { clock, signal }: { readonly clock: Pick<Clock, 'sleep'>; readonly signal: AbortSignal },
): Promise<void> {
  while (!signal.aborted) {
    await clock.sleep(pauseMs, signal).catch(() => undefined)
    if (!signal.aborted) await work()
  }
}

/** Returns the results in the order of the items. After a failure no item starts; the failure is thrown at the end. */
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

/** Starts `perTick` callers of each key per tick; the others wait in order. `defer` runs a function in the next tick. */
export function createTickThrottle(
  perTick: number,
  defer: (next: () => void) => void,
): (key: number) => Promise<void> {
  const turns = new Map<number, { started: number; readonly waiting: (() => void)[] }>()
  const tick = (): void => {
    const due: (() => void)[] = []
    for (const [key, turn] of turns) {
      const batch = turn.waiting.splice(0, perTick)
      turn.started = batch.length
      if (batch.length === 0) turns.delete(key)
      due.push(...batch)
    }
    if (turns.size > 0) defer(tick)
    for (const start of due) start()
  }
  return (key) => {
    if (turns.size === 0) defer(tick)
    const turn = turns.get(key) ?? { started: 0, waiting: [] }
    turns.set(key, turn)
    if (turn.started >= perTick) return new Promise((resolve) => turn.waiting.push(resolve))
    turn.started += 1
    return Promise.resolve()
  }
}
