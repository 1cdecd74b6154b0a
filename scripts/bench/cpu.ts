/** CPU time of other processes, from `/proc` (Linux only). */
import { readFileSync, readdirSync } from 'node:fs'

/** CPU time that all threads of a process and of its children have used so far, in microseconds. */
export function cpuUsOfFamily(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  const pids = children === '' ? [] : children.split(' ').map(Number)
  return pids.reduce((sum, child) => sum + cpuUsOfFamily(child), cpuUsOf(pid))
}

/** CPU time of a process without its children, in microseconds. */
export function cpuUsOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`)
  return threads.reduce((sum, thread) => sum + cpuUsOfThread(pid, Number(thread)), 0)
}

/** CPU time of one thread; the event loop is the thread with the id of its process. */
export function cpuUsOfThread(pid: number, thread: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1000
}
