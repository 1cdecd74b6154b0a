import { createTimeLowWatermark } from '../../src/core/low-watermark.ts'
import { dayMs, isoTime } from '../../src/core/time.ts'
import { deleteExpiredAnswers } from '../../src/db/guard.ts'
import { writeInBatches, removeOldTexts } from '../../src/db/jobs/deadlines.ts'
import { keepPartitions } from '../../src/db/partitions.ts'
import { dropRateTokens } from '../../src/db/rate-tokens.ts'
import type { Db } from '../../src/db/schema.ts'
import { deleteDisputeCounts } from '../../src/db/write-quotas.ts'
import type { BuilderDeps } from './run-job.ts'

type TidyDeps = Pick<BuilderDeps, 'database' | 'clock' | 'signal'>

const rowsPerWrite = 1000
const textsPerWrite = 100
const networkHashesKeptMs = 2 * dayMs

/** Deletes expired messages, texts of jobs and write counts per network, in small transactions. */
export function createTidy({ database, clock, signal }: TidyDeps): () => Promise<void> {
  const lowWatermark = createTimeLowWatermark(clock)
  const dropAll = (drop: (tx: Db) => Promise<number>, limit = rowsPerWrite): Promise<number> =>
    writeInBatches(database, limit, drop, signal)
  return async () => {
    const expiredMs = lowWatermark()
    if (expiredMs !== null) {
      const expired = isoTime(expiredMs)
      await dropAll((tx) => deleteExpiredAnswers(tx, expired, rowsPerWrite))
      const times = { nowMs: clock.now(), settledMs: expiredMs }
      await dropAll((tx) => removeOldTexts(tx, times, textsPerWrite), textsPerWrite)
    }
    const before = isoTime(clock.now() - networkHashesKeptMs)
    await dropAll((tx) => deleteDisputeCounts(tx, before, rowsPerWrite))
    if (database.engine === 'postgres') {
      const times = { nowMs: clock.now(), expiredMs }
      await database.write((tx) => keepPartitions(tx, times))
    }
    if (database.shared !== null) {
      await dropRateTokens(database.shared, clock.now() - networkHashesKeptMs)
    }
  }
}
