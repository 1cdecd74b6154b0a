import { entriesOf } from '../core/entries.ts'
import { applyEntry, noStanding } from '../core/reputation/standing.ts'
import type { Standing } from '../core/reputation/standing.ts'
import { selectRecords } from './records.ts'
import { standingColumns } from './reputation.ts'
import type { Db } from './schema.ts'

export interface ScoreDifference {
  readonly wallet: string
  readonly field: keyof Standing
  readonly stored: string
  readonly recomputed: string
}

const entriesPerPage = 5000

/** Stored standings must match to the last bit. Call it in a read transaction. */
export async function recomputeScores(db: Db): Promise<{
  readonly wallets: number
  readonly entries: number
  readonly differences: readonly ScoreDifference[]
}> {
  const recomputed = new Map<string, Standing>()
  let entries = 0
  for (let after = 0; ;) {
    const rows = await selectRecords(db, 'reputation_ledger')
      .where('seq', '>', after)
      .orderBy('seq')
      .limit(entriesPerPage)
      .execute()
    for (const entry of rows) {
      recomputed.set(entry.wallet, applyEntry(recomputed.get(entry.wallet) ?? noStanding, entry))
      after = entry.seq
    }
    entries += rows.length
    if (rows.length < entriesPerPage) break
  }
  const stored = await db
    .selectFrom('reputation')
    .select(['wallet', ...standingColumns])
    .execute()
  const standings = new Map(stored.map(({ wallet, ...standing }) => [wallet, standing]))
  const wallets = new Set([...recomputed.keys(), ...standings.keys()])
  const differences = [...wallets].flatMap((wallet) =>
    differencesOf(
      wallet,
      standings.get(wallet) ?? noStanding,
      recomputed.get(wallet) ?? noStanding,
    ),
  )
  return { wallets: wallets.size, entries, differences }
}

function differencesOf(wallet: string, stored: Standing, recomputed: Standing): ScoreDifference[] {
  return entriesOf(noStanding)
    .map(([field]) => field)
    .filter((field) => stored[field] !== recomputed[field])
    .map((field) => ({
      wallet,
      field,
      stored: String(stored[field]),
      recomputed: String(recomputed[field]),
    }))
}
