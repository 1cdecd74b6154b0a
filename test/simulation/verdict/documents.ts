/** Compares what the ledger shows with the states that existed meanwhile. */
import { isDeepStrictEqual } from 'node:util'

import { z } from 'zod'

import type { Answer } from '../http-call.ts'
import type { Chance } from '../random.ts'
import type { RowOf, Snapshot } from './snapshot.ts'

const patienceMs = 14 * 86_400_000
const shownRows = 50
const fields = z.record(z.string(), z.unknown())
const board = z.object({
  leaderboard: z.array(
    z.object({ rank: z.number(), rep_score: z.number(), receipts_count: z.number() }),
  ),
})

/** A job expires at its deadline even before the builder records it. */
function statusAt({ status, deadline }: RowOf<'jobs'>, nowMs: number): string {
  const isOver = nowMs >= Date.parse(deadline) && (status === 'open' || status === 'awarded')
  return isOver ? 'expired' : status
}

/** By document and member: the value that a state has. Lists are of the named members of the newest rows. */
function shownBy(db: Snapshot, nowMs: number): Readonly<Record<string, unknown>> {
  const { partners, receipts, workers, jobs } = db
  const statuses = jobs.map((job) => statusAt(job, nowMs))
  const listed = jobs.map((job, at) => [job.id, statuses[at], job.bids_count])
  return {
    'stats/live workers_total': workers.length,
    'stats/live partners_total': partners.filter(({ status }) => status === 'active').length,
    'stats/live receipts_total': receipts.length,
    'stats/live jobs_total': jobs.length,
    'stats/live jobs_open': statuses.filter((status) => status === 'open').length,
    'receipts receipts receipt_id accepted_at': newest(
      receipts.map((row) => [row.id, row.accepted_at]),
    ),
    'workers workers display_name updated_at': newest(
      workers.map((row) => [row.display_name ?? undefined, row.updated_at]),
    ),
    'jobs jobs id status bids_count': newest(listed),
  }
}

function newest(rows: readonly unknown[]): readonly unknown[] {
  return rows.toReversed().slice(0, shownRows)
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
  const wanted = states.map((db) => shownBy(db, nowMs))
  const isWrong = (name: string): boolean => {
    const [document = '', member = '', ...columns] = name.split(' ')
    const value = fields.parse(documents.get(`/api/v1/${document}`))[member]
    const shown = Array.isArray(value)
      ? value.map((row) => columns.map((column) => fields.parse(row)[column]))
      : value
    return !wanted.some((state) => isDeepStrictEqual(state[name], shown))
  }
  const problems = Object.keys(wanted[0] ?? {}).filter(isWrong)
  const { leaderboard } = board.parse(documents.get('/api/v1/leaderboard'))
  const ranked = leaderboard.toSorted((a, b) => b.rep_score - a.rep_score || a.rank - b.rank)
  const counts = leaderboard.map((row) => row.receipts_count).toSorted((a, b) => a - b)
  const isOfState = states.some((db) => isDeepStrictEqual(countsOf(db), counts))
  if (!isOfState || !isDeepStrictEqual(ranked, leaderboard)) problems.push('leaderboard')
  return problems
}

/** How many receipts of each wallet count. */
function countsOf({ reputation_ledger: entries }: Snapshot): readonly number[] {
  const weighty = entries.filter((row) => row.evidence * row.independence !== 0)
  const wallets = [...new Set(weighty.map(({ wallet }) => wallet))]
  return wallets
    .map((one) => weighty.filter(({ wallet }) => wallet === one).length)
    .toSorted((a, b) => a - b)
}

/** Ids of jobs whose time is over and whose end is not yet recorded. */
export function overdueJobs(db: Snapshot, nowMs: number): readonly string[] {
  const isOver = (job: RowOf<'jobs'>): boolean => {
    if (job.status !== 'delivered') return job.status !== statusAt(job, nowMs)
    const delivery = db.job_deliveries.find((row) => row.job_id === job.id)
    return nowMs >= Date.parse(delivery?.created_at ?? '') + patienceMs
  }
  return db.jobs.filter(isOver).map(({ id }) => id)
}

interface Read {
  readonly path: string
  /** True if the answer shows the row as it is in a state. */
  readonly isShown: (db: Snapshot, answer: Answer) => boolean
}

/** A read of a row by its id, or null if nothing of the drawn kind exists. */
export function drawRead(chance: Chance, { jobs, receipts }: Snapshot, nowMs: number): Read | null {
  const table = chance.pick(['receipts', 'jobs'] as const)
  const rows = table === 'jobs' ? jobs : receipts
  const id = rows[chance.below(rows.length)]?.id
  if (id === undefined) return null
  const isShown: Read['isShown'] = (db, { status, body }) => {
    const job = db.jobs.find((row) => row.id === id)
    if (job !== undefined)
      return body['status'] === statusAt(job, nowMs) && body['bids_count'] === job.bids_count
    const receipt = db.receipts.find((row) => row.id === id)
    return receipt === undefined ? status === 404 : body['accepted_at'] === receipt.accepted_at
  }
  return { path: `/api/v1/${table}/${id}`, isShown }
}
