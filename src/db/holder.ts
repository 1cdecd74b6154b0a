/** Names of processes that hold leases. On the same machine, a name shows whether its process has ended. */

import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { kill, pid } from 'node:process'

import { isErrno } from '../core/errno.ts'
import type { OpenDatabase } from './open.ts'

/** Distinguishes this process from earlier ones with the same number. */
const started = String(Math.round(performance.timeOrigin))

export function createHolder(): string {
  return [machine(), pid, started, randomUUID()].join(' ')
}

/** False for a process on another machine, whose state is unknown. */
export function hasEnded(holder: string): boolean {
  const [where, number, since] = holder.split(' ')
  if (where !== machine()) return false
  if (Number(number) === pid) return since !== started
  try {
    return !kill(Number(number), 0)
  } catch (error) {
    return isErrno(error, 'ESRCH')
  }
}

/** Boot and container, since containers number their processes separately. */
function machine(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot}/${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return hostname()
  }
}

/** Names the rows of this replica; null with SQLite, which has only one. */
export function replicaOf({ engine }: Pick<OpenDatabase, 'engine'>): string | null {
  return engine === 'postgres' ? hostname() : null
}
