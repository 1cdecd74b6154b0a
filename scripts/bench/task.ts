/** The side of a task: a script of `tasks/` whose `run` is measured in a fresh process. */
import { once } from 'node:events'

/** Reports that a phase is over and waits until the suite lets the task go on. */
export async function pause(): Promise<void> {
  process.send?.({})
  await once(process, 'message')
}

export async function timed<T>(
  work: () => Promise<T> | T,
): Promise<{ readonly result: T; readonly ms: number; readonly cpuMs: number }> {
  const startedMs = performance.now()
  const cpu = process.cpuUsage()
  const result = await work()
  const { user, system } = process.cpuUsage(cpu)
  return { result, ms: performance.now() - startedMs, cpuMs: (user + system) / 1000 }
}

/** Calls `work` for each item, one after the other, and returns its rate and the CPU time of one call. */
export async function rateOf<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<{ readonly perSecond: number; readonly cpuUs: number }> {
  const { ms, cpuMs } = await timed(async () => {
    for (const item of items) await work(item)
  })
  return { perSecond: (items.length / ms) * 1000, cpuUs: (cpuMs * 1000) / items.length }
}

export function peakMb(): number {
  return process.resourceUsage().maxRSS / 1024
}
