/** Compares published documents with the states that existed while they were built. */
import { isDeepStrictEqual } from 'node:util'

import { z } from 'zod'

import { countedEntries, isNear, jobStatusAt, scoreOf } from './facts.ts'
import type { Snapshot } from './snapshot.ts'

const listed = z.record(z.string(), z.unknown())
const lists = {
  '/receipts': ['receipts', 'receipt_id accepted_at'],
  '/workers': ['workers', 'display_name skills registered_at updated_at'],
  '/jobs': ['jobs', 'id status bids_count'],
} as const
const board = z.object({
  as_of: z.string(),
  leaderboard: z.array(
    z.object({ rank: z.number(), rep_score: z.number(), receipts_count: z.number() }),
  ),
})
type Board = z.infer<typeof board>

function rowsOf(db: Snapshot, nowMs: number): Record<keyof typeof lists, readonly unknown[]> {
  return {
    '/receipts': newest(db.receipts.map((row) => [row.id, row.accepted_at])),
    '/workers': newest(
      db.workers.map((row) => [
        row.display_name ?? undefined,
        z.array(z.string()).parse(JSON.parse(row.skills)),
        row.registered_at,
        row.updated_at,
      ]),
    ),
    '/jobs': newest(db.jobs.map((row) => [row.id, jobStatusAt(row, nowMs), row.bids_count])),
  }
}

function countsOf(db: Snapshot, nowMs: number) {
  return {
    workers_total: db.workers.length,
    partners_total: activePartners(db).length,
    receipts_total: db.receipts.length,
    receipts_verified: db.receipts.filter((row) => row.verification === 'verified').length,
    jobs_total: db.jobs.length,
    jobs_open: db.jobs.filter((row) => jobStatusAt(row, nowMs) === 'open').length,
  }
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
  for (const name of [
    'workers_total',
    'partners_total',
    'receipts_total',
    'receipts_verified',
    'jobs_total',
    'jobs_open',
  ] as const) {
    expectState(name, stats[name], (db) => countsOf(db, nowMs)[name])
  }
  for (const path of ['/receipts', '/workers', '/jobs'] as const) {
    const [member, names] = lists[path]
    const shown = z.array(listed).parse(members(path)[member])
    const columns = shown.map((one) => names.split(' ').map((name) => one[name]))
    expectState(path, columns, (db) => rowsOf(db, nowMs)[path])
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

/** Best first, each with its receipts and its score; equal scores may be in any order. */
function isLeaderboard({ as_of: asOf, leaderboard }: Board, db: Snapshot): boolean {
  const wallets = [...new Set(db.reputation_ledger.map(({ wallet }) => wallet))]
  const wanted = wallets
    .map((wallet) => ({
      count: countedEntries(db, wallet).length,
      score: scoreOf(db, wallet, Date.parse(asOf)),
    }))
    .filter(({ count }) => count > 0)
    .toSorted((a, b) => b.score - a.score)
  return (
    wanted.length === leaderboard.length &&
    leaderboard.every((row, at) => {
      const score = wanted[at]?.score ?? 0
      const ties = wanted.filter((one) => isNear(one.score, score))
      const hasCount = ties.some(({ count }) => count === row.receipts_count)
      return row.rank === at + 1 && isNear(score, row.rep_score) && hasCount
    })
  )
}
