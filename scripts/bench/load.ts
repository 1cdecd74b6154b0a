/** Load over kept-alive connections, and the CPU time that the server spent on it. */
import { execFile, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'

import { socketLoad } from './socket-load.ts'
import type { LoadOptions, LoadResult } from './socket-load.ts'

export interface LoadGenerator {
  readonly name: string
  /** Whether `script` of the options counts for anything. */
  readonly takesScripts: boolean
  readonly run: (options: LoadOptions) => Promise<LoadResult>
}

/** wrk where it is installed, otherwise a closed loop over sockets in this process. */
export function loadGenerator(): LoadGenerator {
  const { stdout, error } = spawnSync('wrk', ['-v'], { encoding: 'utf8' })
  if (error !== undefined) {
    return { name: 'sockets of this process', takesScripts: false, run: socketLoad }
  }
  return { name: stdout.split('\n')[0]?.trim() ?? 'wrk', takesScripts: true, run: wrk }
}

async function wrk(options: LoadOptions): Promise<LoadResult> {
  const { url, headers, connections, durationMs, script } = options
  const seconds = Math.max(1, Math.round(durationMs / 1000))
  const fields = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const scripted = script === undefined ? [] : ['-s', script]
  const args = [
    '-t1',
    `-c${connections}`,
    `-d${seconds}s`,
    '--latency',
    ...scripted,
    ...fields,
    url,
  ]
  const { stdout } = await promisify(execFile)('wrk', args)
  if (/Non-2xx|Socket errors/.test(stdout))
    throw new Error(`errors under load of ${url}: ${stdout}`)
  return {
    requestsPerSecond: Number(found(stdout, /Requests\/sec:\s+([\d.]+)/)),
    p50Ms: milliseconds(found(stdout, /50%\s+([\d.]+[a-z]+)/)),
    p99Ms: milliseconds(found(stdout, /99%\s+([\d.]+[a-z]+)/)),
  }
}

function found(text: string, pattern: RegExp): string {
  const match = pattern.exec(text)?.[1]
  if (match === undefined) throw new Error(`wrk said something else: ${text}`)
  return match
}

const unitsMs: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1000, m: 60_000 }

function milliseconds(text: string): number {
  const [, value, unit = ''] = /^([\d.]+)([a-z]+)$/.exec(text) ?? []
  return Number(value) * (unitsMs[unit] ?? Number.NaN)
}

/** Nanoseconds that all threads of the processes have run so far; null where the system does not tell. */
export function cpuNs(pids: readonly number[]): number | null {
  try {
    let total = 0
    for (const pid of pids) {
      for (const task of readdirSync(`/proc/${pid}/task`)) {
        total += ranNs(pid, task)
      }
    }
    return total
  } catch {
    return null
  }
}

/** The same of one thread; that of the event loop has the id of its process. */
export function threadCpuNs(pid: number, thread: number): number | null {
  try {
    return ranNs(pid, String(thread))
  } catch {
    return null
  }
}

function ranNs(pid: number, task: string): number {
  return Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0])
}

/** The process and all that it started. */
export function withChildren(pid: number): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
    const pids = children === '' ? [] : children.split(' ').map(Number)
    return [pid, ...pids.flatMap(withChildren)]
  } catch {
    return [pid]
  }
}
