/**
 * One writer at a time, across processes, by a file that names its holder. A holder that was killed
 * is noticed by its process, and its lock is taken over; no lock outlives a reboot.
 */
import { linkSync, readFileSync, readlinkSync, statSync, unlinkSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { hrtime, kill, pid } from 'node:process'

import { z } from 'zod'

import { isErrno } from '../../src/core/errno.ts'

/** Where the holder's process cannot be seen (another machine or container), age alone decides. */
const FOREIGN_STALE_MS = 10 * 60_000

const holderSchema = z.object({
  /** Differs for every taking of a lock, on every machine, for ever. */
  token: z.string(),
  pid: z.int(),
  /** Clock ticks since boot at which the process started: tells a reused pid from its predecessor. */
  started: z.string(),
  boot: z.string(),
  host: z.string(),
  /** Identity of the pid namespace: a pid means nothing outside its own. */
  namespace: z.string(),
})
type Holder = z.infer<typeof holderSchema>

export class LockedError extends Error {
  override readonly name = 'LockedError'
}

export interface Lock {
  /** @throws LockedError where another process has taken the lock over. Ask before the last step. */
  readonly assertHeld: () => void
  readonly release: () => void
}

/**
 * Takes the lock or throws at once; never waits.
 * @param nowMs Unix milliseconds; only for locks of other machines.
 * @throws LockedError where a living process holds it.
 */
export function acquireLock(path: string, nowMs: number): Lock {
  const self = identity()
  while (!create(path, self)) removeIfStale(path, self, nowMs)
  return {
    assertHeld: () => {
      if (read(path)?.token !== self.token) throw new LockedError(`${path} was taken over`)
    },
    release: () => {
      if (read(path)?.token === self.token) unlinkSync(path)
    },
  }
}

function identity(): Holder {
  const started = startTicks(pid)
  const boot = readText('/proc/sys/kernel/random/boot_id')
  const host = hostname()
  // The process cannot take two locks in the same nanosecond of its own life.
  const token = [host, boot, pid, started, hrtime.bigint()].join(':')
  return { token, pid, started, boot, host, namespace: pidNamespace() }
}

/** Creates the lock with its content in one step (link fails where the name exists). */
function create(path: string, self: Holder): boolean {
  const draft = `${path}.${self.pid}-${self.token.slice(self.token.lastIndexOf(':') + 1)}`
  writeFileSync(draft, JSON.stringify(self), { mode: 0o644 })
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false
    throw error
  } finally {
    unlinkSync(draft)
  }
}

/**
 * Removes a dead holder's lock. Two processes that find the same dead lock must not both remove it,
 * or the slower one would remove the lock that the faster one has just taken. So the right to remove
 * a lock is itself a lock, named after the token of the dead one, and a dead remover is removed alike.
 * Tokens never come back, so whoever holds that right and still reads that token may remove the file.
 */
function removeIfStale(path: string, self: Holder, nowMs: number): void {
  const holder = read(path)
  if (holder === null) return
  if (isAlive(holder, path, nowMs)) {
    throw new LockedError(`${path} is held by process ${holder.pid} on ${holder.host}`)
  }
  const claim = `${path}.claim-${holder.token.replaceAll(/[^A-Za-z0-9]/g, '-')}`
  while (!create(claim, self)) removeIfStale(claim, self, nowMs)
  try {
    if (read(path)?.token === holder.token) unlinkSync(path)
  } finally {
    unlinkSync(claim)
  }
}

function isAlive(holder: Holder, path: string, nowMs: number): boolean {
  const sameHost = holder.host === hostname()
  if (sameHost && holder.boot !== readText('/proc/sys/kernel/random/boot_id')) return false
  if (!sameHost || holder.namespace !== pidNamespace()) {
    const ageMs = nowMs - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs)
    return ageMs < FOREIGN_STALE_MS
  }
  return processExists(holder.pid) && startTicks(holder.pid) === holder.started
}

function processExists(pid: number): boolean {
  try {
    return kill(pid, 0)
  } catch (error) {
    return isErrno(error, 'EPERM')
  }
}

/**
 * The holder, or null where there is no lock (any more). Locks appear with their content, so one
 * that cannot be read lost it in a power cut: its holder is of an earlier boot.
 */
function read(path: string): Holder | null {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return null
  const holder = holderSchema.safeParse(parseJson(readText(path)))
  if (holder.success) return holder.data
  const token = `lost-${found.ino}-${found.mtimeMs}`
  return { token, pid: 0, started: '', boot: 'lost', host: hostname(), namespace: '' }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Field 22 of `/proc/<pid>/stat`; the name in field 2 may hold blanks. Empty where there is no /proc. */
function startTicks(pid: number): string {
  const stat = readText(`/proc/${pid}/stat`)
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
}

function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (isErrno(error, 'ENOENT') || isErrno(error, 'ESRCH')) return ''
    throw error
  }
}
