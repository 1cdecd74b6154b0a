import { open, rm } from 'node:fs/promises'

import type { Clock } from '../core/deps.ts'
import { dayMs, secondMs } from '../core/time.ts'
import { replicaOf } from '../db/holder.ts'
import { databaseTimeMs } from '../db/leases.ts'
import { dropMetaBefore, setMeta } from '../db/meta.ts'
import type { OpenDatabase } from '../db/open.ts'
import type { DbTransaction } from '../db/schema.ts'

/** Limits disk flushes, since `/health` is public. */
const lifeMs = 5 * secondMs
/** More than one write needs. The file of the database alone may have free pages while the disk is full. */
const probeBytes = 2 ** 20

const probeKey = 'last_probe'

export interface WriteProbe {
  /** Returns whether the ledger can store a write: the disk has space, a commit succeeds, and the last write did not fail. */
  readonly canWrite: () => Promise<boolean>
  /** How far this clock was ahead of the clock of the database; null with SQLite, whose clock is the same. */
  readonly clockSkewMs: () => number | null
}

export function createWriteProbe(deps: {
  readonly database: OpenDatabase
  readonly clock: Clock
  readonly replica?: string | null
}): WriteProbe {
  const { database, clock, replica = replicaOf(database) } = deps
  const key = replica === null ? probeKey : `${probeKey} ${replica}`
  let skewMs: number | null = null
  let last = { atMs: Number.NEGATIVE_INFINITY, isGood: false }
  let running: Promise<boolean> | null = null
  async function canWrite(): Promise<boolean> {
    const ageMs = clock.monotonic() - last.atMs
    if (ageMs > lifeMs) running ??= probe()
    // While writes are queued, a probe takes long, and callers need not wait for it.
    const isGood = ageMs <= 2 * lifeMs || running === null ? last.isGood : await running
    return isGood && !database.isFailing()
  }

  async function probe(): Promise<boolean> {
    try {
      if (database.path !== null) await growFile(`${database.path}.probe`)
      await database.write(storeTime, [key])
      return ended(true)
    } catch {
      return ended(false)
    }
  }

  async function storeTime(tx: DbTransaction): Promise<void> {
    const nowMs = clock.now()
    await setMeta(tx, key, String(nowMs))
    if (replica === null) return
    await dropMetaBefore(tx, `${probeKey} `, String(nowMs - dayMs))
    const startedMs = clock.now()
    const databaseMs = await databaseTimeMs(tx)
    skewMs = Math.round((startedMs + clock.now()) / 2 - databaseMs)
  }

  function ended(isGood: boolean): boolean {
    last = { atMs: clock.monotonic(), isGood }
    running = null
    return isGood
  }

  return { canWrite, clockSkewMs: () => skewMs }
}

/** @throws Error if the disk is full */
async function growFile(path: string): Promise<void> {
  try {
    const file = await open(path, 'w', 0o600)
    try {
      await file.write(Buffer.alloc(probeBytes))
      await file.sync()
    } finally {
      await file.close()
    }
  } finally {
    await rm(path, { force: true })
  }
}
