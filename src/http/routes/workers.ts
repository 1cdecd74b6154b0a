import { claimSpot } from '../../actions/claims.ts'
import type { ActionDeps } from '../../actions/deps.ts'
import { registerWorker } from '../../actions/workers.ts'
import { ApiError } from '../../contract/errors.ts'
import { toUsdc } from '../../core/money.ts'
import { reputationFormula, scoreAt } from '../../core/reputation.ts'
import { isoTime } from '../../core/time.ts'
import { parseWallet } from '../../core/wallet.ts'
import { rankOf } from '../../db/leaderboard.ts'
import { listEntries, standingOf } from '../../db/reputation.ts'
import { countWorkers, findWorker, listWorkers } from '../../db/workers.ts'
import type { Handlers } from '../handler-types.ts'
import { readPage } from '../pages.ts'
import { present, sinceOf, walletIdOf } from '../query.ts'

export function workerHandlers(deps: ActionDeps) {
  const { reader } = deps.database
  return {
    async listWorkers({ query }, { nowMs }) {
      const { skill, wallet, since } = query
      const filter = present({ skill, wallet: walletIdOf(wallet), since: sinceOf(since) })
      const { rows, total, next } = await readPage(
        'workers',
        query,
        (page) => listWorkers(reader, { ...page, filter }),
        () => countWorkers(reader, filter),
      )
      return {
        body: {
          count: rows.length,
          total,
          workers: rows.map(({ worker }) => worker),
          ...next,
          computed_at: isoTime(nowMs),
        },
      }
    },
    async getWorker({ params }) {
      const worker = await findWorker(reader, parseWallet(params.wallet).id)
      if (worker === null) throw new ApiError('unknown_worker')
      return { body: worker }
    },
    registerWorker: ({ body }, context) => registerWorker(deps, { ...context, body }),
    claimSpot: ({ body }, context) => claimSpot(deps, { ...context, body }),
    async getReputation({ params, query }, { nowMs }) {
      const wallet = parseWallet(params.wallet)
      const reading = standingOf(reader, wallet.id)
      const [standing, rank, { rows, total, next }] = await Promise.all([
        reading,
        rankOf(reader, wallet.id),
        readPage(
          'reputation',
          query,
          (page) => listEntries(reader, wallet, page),
          async () => (await reading).entries,
        ),
      ])
      return {
        body: {
          wallet: wallet.display,
          rep_score: scoreAt(standing.decayedSumAtEpoch, nowMs),
          rank,
          receipts_count: standing.receipts,
          total_usdc_lifetime: toUsdc(standing.lifetimeMicroUsdc),
          first_receipt_at: standing.firstReceiptAt,
          last_receipt_at: standing.lastReceiptAt,
          entries_total: total,
          entries: [...rows],
          ...next,
          formula: reputationFormula,
          computed_at: isoTime(nowMs),
        },
      }
    },
  } satisfies Partial<Handlers>
}
