/** Compares published documents with the states that existed while they were built. */
import { isDeepStrictEqual } from 'node:util'

import { z } from 'zod'

import { countedEntries, isNear, jobStatusAt, scoreOf } from './facts.ts'
import type { Snapshot } from './snapshot.ts'

const listed = z.record(z.string(), z.unknown())
const board = z.object({
  as_of: z.string(),
  leaderboard: z.array(
    z.object({ rank: z.number(), rep_score: z.number(), receipts_count: z.number() }),
  ),
})
type Derive = (db: Snapshot, nowMs: number) => unknown
type DeriveRows = (db: Snapshot, nowMs: number) => readonly unknown[]

/** Lists by path: the member, the shown members of its entries, and their values from the rows. */
const lists: Readonly<Record<string, readonly [string, string, DeriveRows]>> = {
  '/receipts': [
    'receipts',
    'receipt_id accepted_at',
    (db) => db.receipts.map((row) => [row.id, row.accepted_at]),
  ],
  '/workers': [
    'workers',
    'display_name skills registered_at updated_at',
    (db) =>
      db.workers.map((row) => [
        row.display_name ?? undefined,
        z.array(z.string()).parse(JSON.parse(row.skills)),
        row.registered_at,
        row.updated_at,
      ]),
  ],
  '/jobs': [
    'jobs',
    'id status bids_count',
    (db, nowMs) => db.jobs.map((row) => [row.id, jobStatusAt(row, nowMs), row.bids_count]),
  ],
}

const counts: Readonly<Record<string, Derive>> = {
  workers_total: (db) => db.workers.length,
  partners_total: (db) => activePartners(db).length,
  receipts_total: (db) => db.receipts.length,
  receipts_verified: (db) => db.receipts.filter((row) => row.verification === 'verified').length,
  jobs_total: (db) => db.jobs.length,
  jobs_open: (db, nowMs) => db.jobs.filter((row) => jobStatusAt(row, nowMs) === 'open').length,
}

/**
 * The values that no state explains. Each part of a document is one read, and so shows one of these states; parts that a
 * later build reads show later states.
 */
export function compareDocuments(
  documents: ReadonlyMap<string, unknown>,
  states: readonly Snapshot[],
  nowMs: number,
): readonly string[] {
  const problems: string[] = []
  const expectState = (name: string, shown: unknown, of: (db: Snapshot) => unknown): void => {
    const wanted = states.map(of)
    if (wanted.some((one) => isDeepStrictEqual(one, shown))) return
    problems.push(`${name} is ${JSON.stringify(shown)}, and not ${JSON.stringify(wanted.at(-1))}`)
  }
  const members = (path: string) => listed.parse(documents.get(`/api/v1${path}`))

  const stats = members('/stats/live')
  for (const [name, count] of Object.entries(counts)) {
    expectState(name, stats[name], (db) => count(db, nowMs))
  }
  for (const [path, [member, names, rows]] of Object.entries(lists)) {
    const shown = z.array(listed).parse(members(path)[member])
    const columns = shown.map((one) => names.split(' ').map((name) => one[name]))
    expectState(path, columns, (db) => newest(rows(db, nowMs)))
  }
  const shown = board.parse(documents.get('/api/v1/leaderboard'))
  if (!states.some((db) => isLeaderboard(shown, db))) {
    problems.push(`the leaderboard is ${JSON.stringify(shown)}`)
  }
  const partners = z.array(listed).parse(documents.get('/partners'))
  const shownPartners = partners.map((one) => [one['handle'], one['attestation_endpoint_url']])
  expectState('the list of partners', byName(shownPartners), (db) =>
    byName(activePartners(db).map((row) => [row.handle, row.attestation_url])),
  )
  return problems
}

function newest(rows: readonly unknown[]): readonly unknown[] {
  return rows.toReversed().slice(0, 50)
}

function byName(rows: readonly (readonly unknown[])[]): readonly unknown[] {
  return rows.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1))
}

function activePartners({ partners }: Snapshot) {
  return partners.filter(({ status }) => status === 'active')
}

/** True if each row has the score and the number of receipts of its rank. Equal scores may be in any order. */
function isLeaderboard({ as_of: asOf, leaderboard }: z.infer<typeof board>, db: Snapshot): boolean {
  const wallets = [...new Set(db.reputation_ledger.map(({ wallet }) => wallet))]
  const expected = wallets
    .map((wallet) => ({
      count: countedEntries(db, wallet).length,
      score: scoreOf(db, wallet, Date.parse(asOf)),
    }))
    .filter(({ count }) => count > 0)
    .toSorted((a, b) => b.score - a.score)
  return (
    expected.length === leaderboard.length &&
    leaderboard.every((row, at) => {
      const score = expected[at]?.score ?? 0
      const ties = expected.filter((one) => isNear(one.score, score))
      const hasCount = ties.some(({ count }) => count === row.receipts_count)
      return row.rank === at + 1 && isNear(score, row.rep_score) && hasCount
    })
  )
}
