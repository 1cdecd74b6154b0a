/** Checks the payers of receipts 14 and 60 days after the receipts began to count. */
import { isAddress } from 'viem'

import type { EvmChainName } from '../../src/chain/chains.ts'
import { ChainError, notConfigured } from '../../src/chain/errors.ts'
import { CallBudgetError } from '../../src/chain/json-rpc.ts'
import { createChainReader } from '../../src/chain/reader.ts'
import { groupBy } from '../../src/core/group-by.ts'
import { checkDays } from '../../src/core/reputation/formula.ts'
import { findLinks, reviewWindowMs } from '../../src/core/reputation/review.ts'
import { isHub } from '../../src/core/rules/hubs.ts'
import { dayMs, isoTime } from '../../src/core/time.ts'
import { updateRecord } from '../../src/db/records.ts'
import { applyReview, dueReviewDays, reviewsOfDay } from '../../src/db/reviews.ts'
import type { DueReview, ReviewDay, ReviewFinding } from '../../src/db/reviews.ts'
import { hadUsdc, readTransfersBetween } from '../chain/payer-reads.ts'
import { isEvmChain } from '../chain/receipt-verdict.ts'
import { testWallets } from '../chain/wallet-test.ts'
import { listedHubs } from '../rails/look-up-choice.ts'
import type { ReviewReport } from '../world/receipt-run.ts'
import type { BuilderDeps } from './run-job.ts'

export interface ReviewDeps extends Pick<
  BuilderDeps,
  'database' | 'clock' | 'random' | 'fetch' | 'signal'
> {
  /** Chains without a configured node are skipped: a public node is not sufficient evidence of a payment. */
  readonly rpcUrls: Readonly<Partial<Record<EvmChainName, string | null>>>
  /** Maximum number of JSON-RPC calls to one chain in one run; a batch of reviews makes at most 8,000. */
  readonly maxCalls?: number
  readonly timeoutMs?: number
  readonly retries?: number
}

const receiptsPerBatch = 200
/** 90 days of Base in chunks of five hours are 432 calls for each of three filters. */
const maxCallsPerBatch = 8000
/** Number of further days on which wallets with too many transfers are looked up again. */
const maxPostponed = 3
const perWrite = 50
/** Ages that count, best first. */
const agesDays = [90, 30] as const

/** Receipts that could not be checked stay due, and the report says why. */
export async function reviewReputation(deps: ReviewDeps): Promise<ReviewReport[]> {
  const { database, clock } = deps
  const reports: ReviewReport[] = []
  for (const day of await dueReviewDays(database.reader, isoTime(clock.now()))) {
    const since = isoTime(reviewWindowMs(Date.parse(day.dueAt), day.stage))
    const due = await reviewsOfDay(database.reader, day, since)
    for (const [chain, reviews] of groupBy(due, chainOf)) {
      const report = { chain: chain ?? 'none', due: reviews.length, adjusted: 0, reversed: 0 }
      const reason = await reviewOnChain(deps, chain, day, reviews, report)
      reports.push(reason === null ? report : { ...report, reason })
    }
  }
  return reports
}

function chainOf({ chain, payer, worker }: DueReview): EvmChainName | null {
  const isRead = chain !== null && isEvmChain(chain) && isAddress(payer) && isAddress(worker)
  return isRead ? chain : null
}

/** Adds to the report. Returns why transfers were not read, or null. */
async function reviewOnChain(
  deps: ReviewDeps,
  chain: EvmChainName | null,
  day: ReviewDay,
  reviews: readonly DueReview[],
  report: { adjusted: number; reversed: number },
): Promise<string | null> {
  const rpcUrl = chain === null ? null : (deps.rpcUrls[chain] ?? null)
  if (chain === null || rpcUrl === null) {
    const why = chain === null ? 'no chain that is read' : notConfigured(chain)
    await writeUnread(deps, day, reviews, why, report)
    return why
  }
  const first = reviews.filter(({ postponed }) => postponed === 0)
  const again = reviews.filter(({ postponed }) => postponed > 0)
  const queue = [...batchesOf(first, receiptsPerBatch), ...batchesOf(again, 1)]
  for (let batch = queue.shift(); batch !== undefined; batch = queue.shift()) {
    try {
      await write(deps, day, await lookUp(deps, { chain, rpcUrl, day }, batch), report)
    } catch (error) {
      if (deps.signal.aborted) return 'the builder was stopped'
      if (error instanceof ChainError && !error.isTooLarge) return error.message
      if (!(error instanceof ChainError || error instanceof CallBudgetError)) throw error
      // Wallets with too many transfers delay only their own receipts.
      const [review] = batch
      if (batch.length > 1) queue.push(...batchesOf(batch, Math.ceil(batch.length / 2)))
      else if (review !== undefined && review.postponed < maxPostponed) {
        const midnightMs = (Math.floor(deps.clock.now() / dayMs) + 1) * dayMs
        const { receiptId } = review
        const changes = { dueAt: isoTime(midnightMs), postponed: review.postponed + 1 }
        await deps.database.write((tx) =>
          updateRecord(tx, 'reputation_reviews', { receiptId }, changes),
        )
      } else {
        const why = `payer or worker has more transfers on ${chain} than the ledger reads`
        await writeUnread(deps, day, batch, why, report)
      }
    }
  }
  return null
}

function batchesOf<Item>(items: readonly Item[], size: number): Item[][] {
  const count = Math.ceil(items.length / size)
  return Array.from({ length: count }, (_, at) => items.slice(at * size, (at + 1) * size))
}

async function lookUp(
  { fetch, clock, random, signal, timeoutMs, retries, maxCalls = maxCallsPerBatch }: ReviewDeps,
  { chain, rpcUrl, day }: { chain: EvmChainName; rpcUrl: string; day: ReviewDay },
  reviews: readonly DueReview[],
): Promise<ReadonlyMap<DueReview, ReviewFinding>> {
  const most = { maxCalls: Math.min(maxCalls, maxCallsPerBatch), maxFailures: 3 }
  const limits = { timeoutMs, retries, ...most }
  const reader = createChainReader(chain, rpcUrl, { fetch, clock, random, signal, ...limits })
  const dueMs = Date.parse(day.dueAt)
  const fromBlock = await reader.blockAtTime(reviewWindowMs(dueMs, day.stage))
  const toBlock = (await reader.blockAtTime(dueMs)) - 1
  const wallets = {
    workers: [...new Set(reviews.map(({ worker }) => worker))],
    payers: [...new Set(reviews.map(({ payer }) => payer))],
  }
  const transfers = await readTransfersBetween(reader, wallets, { fromBlock, toBlock }, signal)
  const hubs = new Map<string, boolean>()
  let links = findLinks(reviews, transfers, () => false)
  for (;;) {
    const untested = [...new Set(links.flatMap(({ via }) => via))].filter((one) => !hubs.has(one))
    if (untested.length === 0) break
    const unlisted = untested.filter((one) => !listedHubs.has(one))
    const tests = await testWallets(reader, unlisted, toBlock)
    for (const one of untested) {
      const test = tests.get(one)
      hubs.set(one, test === undefined || isHub({ listedHub: false, ...test }) === true)
    }
    links = findLinks(reviews, transfers, (wallet) => hubs.get(wallet) === true)
  }
  // A payer counts as known by the first receipt of the day that is checked.
  const paidMs = dueMs - ((checkDays[day.stage] ?? 0) + 1) * dayMs
  const knownSince = new Map<string, string>()
  for (const { payer, knownSince: since } of reviews) {
    for (const days of agesDays) {
      const old = isoTime(paidMs - days * dayMs)
      if (knownSince.has(payer) || since <= old) break
      const block = await reader.blockAtTime(Date.parse(old))
      if ((await hadUsdc(reader, payer, block)) === true) knownSince.set(payer, old)
    }
  }
  const reason = `counts after a look-up of USDC transfers on ${chain}`
  const findings = links.map(({ pair, link, party }) => {
    const known = {
      knownSince: knownSince.get(pair.payer) ?? null,
      isHub: listedHubs.has(pair.payer),
    }
    return [pair, { link, party, ...known, reason }] as const
  })
  return new Map(findings)
}

/** Decides from the ledger alone: transfers that were not read prove nothing. */
async function writeUnread(
  deps: ReviewDeps,
  day: ReviewDay,
  reviews: readonly DueReview[],
  why: string,
  report: { adjusted: number; reversed: number },
): Promise<void> {
  const reason = `counts without a look-up of transfers: ${why}`
  const unread = { link: null, party: null, knownSince: null, reason }
  const findings = reviews.map((review) => {
    return [review, { ...unread, isHub: listedHubs.has(review.payer) }] as const
  })
  await write(deps, day, new Map(findings), report)
}

async function write(
  { database, clock, signal }: ReviewDeps,
  { stage }: ReviewDay,
  findings: ReadonlyMap<DueReview, ReviewFinding>,
  report: { adjusted: number; reversed: number },
): Promise<void> {
  for (const batch of batchesOf([...findings], perWrite)) {
    signal.throwIfAborted()
    const now = isoTime(clock.now())
    const results = await database.write(async (tx) => {
      const done: Awaited<ReturnType<typeof applyReview>>[] = []
      for (const [review, found] of batch)
        done.push(await applyReview(tx, review, stage, found, now))
      return done
    })
    for (const result of results) if (result !== null) report[result] += 1
  }
}
