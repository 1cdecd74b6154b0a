/** Stores the progress of reading a rail for its document and page, and reports it to the log or terminal. */
import { daysReadText, leftText, percentRead } from '../../src/core/backfill.ts'
import type { DaysRead } from '../../src/core/backfill.ts'
import type { Clock } from '../../src/core/deps.ts'
import type { OpenDatabase } from '../../src/db/open.ts'
import { loadBackfills, saveBackfill } from '../../src/db/polls.ts'
import type { BackfillProgress } from '../rails/adapter.ts'

export interface RailBackfill {
  readonly rail: string
  readonly percent: number
  /** Such as `12 of 30 days read, about 8 min left`. */
  readonly text: string
}

/** A percentage that did not grow is not stored, since each stored one changes published documents. */
export async function backfillProgress(
  rail: string,
  deps: {
    readonly database: OpenDatabase
    readonly clock: Pick<Clock, 'monotonic'>
    readonly onBackfill?: (progress: RailBackfill) => void
  },
): Promise<BackfillProgress> {
  const { database, clock, onBackfill } = deps
  const stored = (await loadBackfills(database.reader)).get(rail) ?? null
  const startedMs = clock.monotonic()
  let first: DaysRead | null = null
  let last = stored
  return {
    stored,
    save: async (read) => {
      if (isTold(last, read)) return
      first ??= stored ?? read
      const tookMs = clock.monotonic() - startedMs
      const backfill = read && { ...read, leftMs: first && leftMsOf(first, read, tookMs) }
      await database.write((tx) => saveBackfill(tx, rail, backfill))
      last = backfill
      if (backfill === null) return
      const text = [daysReadText(backfill), leftText(backfill.leftMs)]
        .filter((part) => part !== null)
        .join(', ')
      onBackfill?.({ rail, percent: percentRead(backfill), text })
    },
  }
}

function isTold(last: DaysRead | null, now: DaysRead | null): boolean {
  if (last === null || now === null) return last === now
  const isSame = now.fromMs === last.fromMs && now.toMs === last.toMs
  return isSame && percentRead(now) <= percentRead(last)
}

/** Estimated from the speed since the start of the poll; null until it is known. */
function leftMsOf(first: DaysRead, now: DaysRead, tookMs: number): number | null {
  const readMs = now.readUntilMs - first.readUntilMs
  if (readMs <= 0) return null
  return Math.round(Math.max(0, now.toMs - now.readUntilMs) * (tookMs / readMs))
}
