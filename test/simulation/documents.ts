/** Published documents against the states that there were while they were made. */
import { isDeepStrictEqual } from 'node:util'

import { z } from 'zod'

import { iso, scoreOf, countedOf, statusAt } from './model/reading.ts'
import type { State } from './model/state.ts'
import { isNear } from './structural-match.ts'

const stats = z.object({
  workers_total: z.number(),
  partners_total: z.number(),
  receipts_total: z.number(),
  receipts_verified: z.number(),
  jobs_total: z.number(),
  jobs_open: z.number(),
})
const receipts = z.object({
  total: z.number(),
  receipts: z.array(z.object({ receipt_id: z.string(), accepted_at: z.string() })),
})
const workers = z.object({
  total: z.number(),
  workers: z.array(
    z.object({
      display_name: z.string().optional(),
      skills: z.array(z.string()),
      registered_at: z.string(),
      updated_at: z.string(),
    }),
  ),
})
const jobs = z.object({
  jobs: z.array(z.object({ id: z.string(), status: z.string(), bids_count: z.number() })),
})
const board = z.object({
  as_of: z.string(),
  leaderboard: z.array(
    z.object({ rank: z.number(), rep_score: z.number(), receipts_count: z.number() }),
  ),
})
const partners = z.array(
  z.object({ handle: z.string(), attestation_endpoint_url: z.string().nullable() }),
)

/**
 * What shows no state that there was. Each part of a document is one read, and so one of these states; a part of a
 * later build is of a later state, since its states begin where the build did.
 */
export function compareDocuments(
  documents: ReadonlyMap<string, unknown>,
  states: readonly State[],
  nowMs: number,
): readonly string[] {
  const unfit: string[] = []
  const expectOne = (what: string, shown: unknown, of: (state: State) => unknown): void => {
    if (states.some((state) => isDeepStrictEqual(of(state), shown))) return
    const wanted = JSON.stringify(of(states.at(-1) ?? failure()))
    unfit.push(`${what} shows ${JSON.stringify(shown)}, and not ${wanted}`)
  }
  const read = <T>(path: string, schema: z.ZodType<T>): T =>
    schema.parse(documents.get(`/api/v1${path}`))

  const live = read('/stats/live', stats)
  expectOne('workers_total', live.workers_total, (state) => state.workers.size)
  expectOne('partners_total', live.partners_total, (state) => standing(state).length)
  expectOne('receipts_total', live.receipts_total, (state) => state.receipts.size)
  expectOne('receipts_verified', live.receipts_verified, verified)
  expectOne('jobs_total', live.jobs_total, (state) => state.jobs.size)
  expectOne(
    'jobs_open',
    live.jobs_open,
    (state) => [...state.jobs.values()].filter((job) => statusAt(job, nowMs) === 'open').length,
  )

  const listed = read('/receipts', receipts).receipts
  const shownReceipts = listed.map(({ receipt_id: id, accepted_at: at }) => [id, at])
  expectOne('the list of receipts', shownReceipts, (state) =>
    newest([...state.receipts.values()].map(({ id, atMs }) => [id, iso(atMs)])),
  )
  const crew = read('/workers', workers).workers.map((one) => [
    one.display_name ?? null,
    one.skills,
    one.registered_at,
    one.updated_at,
  ])
  expectOne('the list of workers', crew, (state) =>
    newest(
      [...state.workers.values()].map(({ name, skills, registeredMs, updatedMs }) => [
        name,
        skills,
        iso(registeredMs),
        iso(updatedMs),
      ]),
    ),
  )
  const offers = read('/jobs', jobs).jobs.map(({ id, status, bids_count: bids }) => [
    id,
    status,
    bids,
  ])
  expectOne('the list of jobs', offers, (state) =>
    newest([...state.jobs].map(([id, job]) => [id, statusAt(job, nowMs), job.bids.size])),
  )

  const { as_of: asOf, leaderboard } = read('/leaderboard', board)
  const scores = leaderboard.map((one) => [one.receipts_count, one.rep_score] as const)
  const isRanked = leaderboard.every(({ rank }, at) => rank === at + 1)
  const fits = states.some((state) => isBoard(scores, state, Date.parse(asOf)))
  if (!fits || !isRanked) unfit.push(`the leaderboard shows ${JSON.stringify(leaderboard)}`)

  const byHandle = (shown: z.infer<typeof partners>) =>
    new Map(shown.map((one) => [one.handle, one]))
  expectOne('the partners', byHandle(partners.parse(documents.get('/partners'))), (state) =>
    byHandle(
      standing(state).map(([handle, { url }]) => ({ handle, attestation_endpoint_url: url })),
    ),
  )
  return unfit
}

/** Those that pay or need not, as far as it was written down. */
function standing({ partners }: State) {
  return [...partners].filter(([, { status }]) => status === 'active')
}

function failure(): never {
  throw new Error('there was no state')
}

function newest(rows: readonly (readonly unknown[])[]): readonly (readonly unknown[])[] {
  return rows.toReversed().slice(0, 50)
}

function verified(state: State): number {
  // What the exchange issues shows no payment.
  const shows = [...state.receipts.values()].filter(({ platform }) => platform !== 'job-exchange')
  return shows.filter(({ kind }) => kind === 'platform').length
}

/** Best first, each with as many receipts and the score that the entries come to. */
function isBoard(
  shown: readonly (readonly [number, number])[],
  state: State,
  asOfMs: number,
): boolean {
  const wanted = [...new Set(state.entries.map(({ wallet }) => wallet))]
    .map((wallet) => [
      countedOf(state.entries, wallet).length,
      scoreOf(state.entries, wallet, asOfMs),
    ])
    .filter(([count = 0]) => count > 0)
    .toSorted(([, a = 0], [, b = 0]) => b - a)
  if (wanted.length !== shown.length) return false
  const places = wanted.map(([count, score = 0], at) => {
    const there = shown[at]
    return (
      there !== undefined && isNear(score, there[1]) && (there[0] === count || hasTie(wanted, at))
    )
  })
  return places.every(Boolean)
}

function hasTie(wanted: readonly (readonly number[])[], at: number): boolean {
  const score = wanted[at]?.[1] ?? 0
  return wanted.filter(([, other = 0]) => isNear(score, other)).length > 1
}
