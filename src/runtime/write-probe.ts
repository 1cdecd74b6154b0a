import { open, rm } from 'node:fs/promises'

import type { Clock } from '../core/deps.ts'
import { secondMs } from '../core/time.ts'
import { setMeta } from '../db/meta.ts'
import type { OpenDatabase } from '../db/open.ts'

/** Limits disk flushes, since `/health` is public. */
const lifeMs = 5 * secondMs
/** More than one write needs. The file of the database alone may have free pages while the disk is full. */
const probeBytes = 2 ** 20

/** Returns whether the ledger can store a write: the disk has space, a commit succeeds, and the last write did not fail. */
export function createWriteProbe({
  database,
  clock,
}: {
  readonly database: OpenDatabase
  readonly clock: Clock
}): () => Promise<boolean> {
  let last = { atMs: Number.NEGATIVE_INFINITY, isGood: false }
  let running: Promise<boolean> | null = null
  return async () => {
    const ageMs = clock.monotonic() - last.atMs
    if (ageMs > lifeMs) running ??= probe()
    // While writes are queued, a probe takes long, and callers need not wait for it.
    const isGood = ageMs <= 2 * lifeMs || running === null ? last.isGood : await running
    return isGood && !database.isFailing()
  }

  async function probe(): Promise<boolean> {
    try {
      await growFile(`${database.path}.probe`)
      await database.write((tx) => setMeta(tx, 'last_probe', String(clock.now())))
      return ended(true)
    } catch {
      return ended(false)
    }
  }

  function ended(isGood: boolean): boolean {
    last = { atMs: clock.monotonic(), isGood }
    running = null
    return isGood
  }
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
