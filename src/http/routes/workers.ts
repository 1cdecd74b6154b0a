/** Workers, claims and reputation. */
import type { z } from 'zod'

import { claimSpot } from '../../actions/claims.ts'
import type { ActionDeps } from '../../actions/deps.ts'
import { registerWorker } from '../../actions/workers.ts'
import { ApiError } from '../../contract/errors.ts'
import { claimBody } from '../../contract/schemas/claim.ts'
import type { Reputation } from '../../contract/schemas/reputation.ts'
import { registerBody } from '../../contract/schemas/worker.ts'
import type { workerList } from '../../contract/schemas/worker.ts'
import { toUsdc } from '../../core/money.ts'
import { reputationFormula, scoreAt } from '../../core/reputation.ts'
import { isoTime, parseTime } from '../../core/time.ts'
import { parseWallet } from '../../core/wallet.ts'
import { rankOf } from '../../db/leaderboard.ts'
import { listEntries, standingOf } from '../../db/reputation.ts'
import { countWorkers, findWorker, listWorkers } from '../../db/workers.ts'
import type { WorkerFilter } from '../../db/workers.ts'
import { fingerprintOf } from '../client-fingerprint.ts'
import type { ReadContext } from '../handler-context.ts'
import { read, write } from '../handlers.ts'
import { cutPage, pageOf } from '../pages.ts'

const LIST = 'workers'
const ENTRIES = 'reputation'

export function workerHandlers(deps: ActionDeps) {
  const { reader } = deps.database
  return {
    listWorkers: read(async ({ query, nowMs }) => {
      const { limit, before } = pageOf(LIST, query)
      const filter = filterOf(query)
      const [rows, total] = await Promise.all([
        listWorkers(reader, { limit: limit + 1, before, filter }),
        countWorkers(reader, filter),
      ])
      const page = cutPage(LIST, rows, limit)
      const body: z.infer<typeof workerList> = {
        count: page.rows.length,
        total,
        workers: page.rows.map(({ worker }) => worker),
        ...page.next,
        computed_at: isoTime(nowMs),
      }
      return { body }
    }),
    getWorker: read(async ({ params }) => {
      const worker = await findWorker(reader, walletOf(params).id)
      if (worker === null) throw new ApiError('unknown_worker')
      return { body: worker }
    }),
    registerWorker: write(registerBody, (sent) =>
      registerWorker(deps, { ...sent, fingerprint: fingerprintOf(sent) }),
    ),
    claimSpot: write(claimBody, (sent) =>
      claimSpot(deps, { ...sent, fingerprint: fingerprintOf(sent) }),
    ),
    getReputation: read(async (context) => ({ body: await reputationOf(deps, context) })),
  }
}

async function reputationOf(
  { database: { reader } }: ActionDeps,
  { params, query, nowMs }: ReadContext,
): Promise<Reputation> {
  const wallet = walletOf(params)
  const { limit, before } = pageOf(ENTRIES, query)
  const [standing, rank, entries] = await Promise.all([
    standingOf(reader, wallet.id),
    rankOf(reader, wallet.id),
    listEntries(reader, wallet, { limit: limit + 1, before }),
  ])
  const page = cutPage(ENTRIES, entries, limit)
  return {
    wallet: wallet.display,
    rep_score: scoreAt(standing.decayedSumAtEpoch, nowMs),
    rank,
    receipts_count: standing.receipts,
    total_usdc_lifetime: toUsdc(standing.lifetimeMicroUsdc),
    first_receipt_at: standing.firstReceiptAt,
    last_receipt_at: standing.lastReceiptAt,
    entries_total: standing.entries,
    entries: [...page.rows],
    ...page.next,
    formula: reputationFormula,
    computed_at: isoTime(nowMs),
  }
}

/** The form was checked against the registry before the handler ran. */
function walletOf(params: Readonly<Record<string, string>>) {
  return parseWallet(params['wallet'] ?? '')
}

function filterOf(query: ReadContext['query']): WorkerFilter {
  const { skill, wallet, since } = query
  return {
    ...(skill === undefined ? {} : { skill }),
    ...(wallet === undefined ? {} : { wallet: parseWallet(wallet).id }),
    ...(since === undefined ? {} : { since: isoTime(parseTime(since) ?? 0) }),
  }
}
