import { sql } from 'kysely'

/** Removes the texts of unsuccessful jobs and bids. Their SHA-256, parties, amounts and times remain. */
import { sha256Hex } from '../../auth/messages.ts'
import type { JsonObject } from '../../core/canonical-json.ts'
import { jobTextsKeptDays } from '../../core/job.ts'
import { dayMs, isoTime } from '../../core/time.ts'
import { toJsonText } from '../json.ts'
import { deleteRecords, selectRecords, updateRecord } from '../records.ts'
import type { Db } from '../schema.ts'

/** `settledMs`: a time that has certainly passed. Handles at most `limit` jobs and as many bids; returns the larger number. */
export async function removeOldTexts(
  db: Db,
  { nowMs, settledMs }: { readonly nowMs: number; readonly settledMs: number },
  limit: number,
): Promise<number> {
  const before = isoTime(settledMs - jobTextsKeptDays * dayMs)
  const removed = (texts: JsonObject) => ({
    textsSha256: sha256Hex(toJsonText(texts)),
    textsRemovedAt: isoTime(nowMs),
  })
  // Literals, as in the conditions of the indexes.
  const jobs = await selectRecords(db, 'jobs')
    .where(sql<boolean>`status in ('cancelled', 'expired') and texts_removed_at is null`)
    .where('updated_at', '<=', before)
    .orderBy('updated_at')
    .limit(limit)
    .execute()
  for (const { seq, title, description, skills, ...job } of jobs) {
    const texts = removed({ title, description, skills })
    await deleteRecords(db, 'job_skills', { skill: skills, jobSeq: seq })
    await updateRecord(db, 'jobs', { seq }, { title: '', description: '', skills: [], ...texts })
    // Includes the awarded bid of an ended job; the other bids are rejected or lapsed.
    if (job.awardedBid !== null) await removeProposals([job.awardedBid])
  }
  const bids = await selectRecords(db, 'job_bids')
    .where(sql<boolean>`status in ('rejected', 'lapsed') and texts_removed_at is null`)
    .where('updated_at', '<=', before)
    .orderBy('updated_at')
    .limit(limit)
    .execute()
  await removeProposals(bids.map(({ id }) => id))
  return Math.max(jobs.length, bids.length)

  async function removeProposals(ids: readonly string[]): Promise<void> {
    for (const { id, proposal } of await selectRecords(db, 'job_bids', { id: ids }).execute()) {
      await updateRecord(db, 'job_bids', { id }, { proposal: '', ...removed({ proposal }) })
    }
  }
}
