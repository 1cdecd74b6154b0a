/** Memory, descriptors, threads and CPU time of running processes. */
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'

import type { Running } from './program.ts'

export interface Sample {
  readonly atMs: number
  readonly residentMiB: number
  readonly descriptors: number
  readonly threads: number
  /** CPU time of all threads. */
  readonly cpuMs: number
}

export function sampleOf(pid: number): Sample | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const number = (name: string) =>
      Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(status)?.[1])
    return {
      atMs: performance.now(),
      residentMiB: number('VmRSS') / 1024,
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      threads: number('Threads'),
      cpuMs: cpuUsOf(pid) / 1000,
    }
  } catch {
    return null
  }
}

/** CPU time of all threads of a process, in microseconds. */
export function cpuUsOf(pid: number): number {
  const tasks = `/proc/${pid}/task`
  const times = readdirSync(tasks).map((thread) =>
    Number(readFileSync(`${tasks}/${thread}/schedstat`, 'utf8').split(' ')[0]),
  )
  return times.reduce((sum, ns) => sum + ns / 1000, 0)
}

export function childrenOf(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return text === '' ? [] : text.split(' ').map(Number)
}

export function fileMiB(path: string): number {
  return existsSync(path) ? statSync(path).size / 2 ** 20 : 0
}

/** Heap of the service, or of its builder, in bytes after a garbage collection. `heap-hook.ts` prints it on SIGUSR2. */
export async function heapOf(service: Running, pid = service.pid): Promise<number> {
  const printed = service.next(new RegExp(`heap of ${pid} after a collection: (\\d+)\\n`))
  process.kill(pid, 'SIGUSR2')
  return Number((await printed)[1])
}

/** Growth of a value over all samples, by linear regression. */
export function trendOf(samples: readonly Sample[], of: (sample: Sample) => number): number {
  const mean = (values: readonly number[]) =>
    values.reduce((sum, value) => sum + value, 0) / values.length
  const at = samples.map(({ atMs }) => atMs)
  const [meanAt, meanValue] = [mean(at), mean(samples.map(of))]
  const above = samples.reduce((sum, one) => sum + (one.atMs - meanAt) * (of(one) - meanValue), 0)
  const below = samples.reduce((sum, one) => sum + (one.atMs - meanAt) ** 2, 0)
  return (above / below) * ((at.at(-1) ?? 0) - (at[0] ?? 0))
}
