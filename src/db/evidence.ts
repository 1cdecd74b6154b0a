/** Documents of evidence, by their SHA-256. */
import { sql } from 'kysely'

import { findRecord } from './records.ts'
import type { NewRecordOf } from './rows.ts'
import type { Db } from './schema.ts'

/** `keptUntil`: null keeps it permanently. */
export type EvidenceDocument = Required<Omit<NewRecordOf<'evidence'>, 'seq'>>

export async function saveEvidence(db: Db, documents: Iterable<EvidenceDocument>): Promise<void> {
  for (const document of documents) {
    const { sha256, body, keptUntil: kept_until } = document
    await db
      .insertInto('evidence')
      .values({ sha256, body, kept_until })
      .onConflict((same) =>
        same
          .column('sha256')
          // The later time counts; null is the latest.
          .doUpdateSet({
            kept_until: sql`case when excluded.kept_until is null or excluded.kept_until > evidence.kept_until then excluded.kept_until else evidence.kept_until end`,
          })
          .where('evidence.kept_until', 'is not', null),
      )
      .execute()
  }
}

export async function findEvidence(db: Db, sha256: string): Promise<string | null> {
  return (await findRecord(db, 'evidence', { sha256 }))?.body ?? null
}

/** Oldest first. */
export async function evidenceAfter(db: Db, seq: number) {
  const later = db.selectFrom('evidence').select(['seq', 'sha256']).where('seq', '>', seq)
  return await later.orderBy('seq').execute()
}

/** Returns the SHA-256 of each. */
export async function expiredEvidence(db: Db, now: string): Promise<readonly string[]> {
  const expired = db.selectFrom('evidence').select('sha256').where('kept_until', '<', now)
  return (await expired.execute()).map(({ sha256 }) => sha256)
}
