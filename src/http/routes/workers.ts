import { claimSpot } from '../../actions/claims.ts'
import type { ActionDeps } from '../../actions/deps.ts'
import { registerWorker } from '../../actions/workers.ts'
import { ApiError } from '../../contract/errors.ts'
import { pathOf } from '../../contract/routes.ts'
import { present } from '../../core/entries.ts'
import { toUsdc } from '../../core/money.ts'
import { reputationFormula } from '../../core/reputation/formula.ts'
import { scoreAt } from '../../core/reputation/standing.ts'
import { statementCsv } from '../../core/statement-csv.ts'
import { earliestClosing, openMonthText } from '../../core/statement.ts'
import { isoTime } from '../../core/time.ts'
import { parseWallet } from '../../core/wallet.ts'
import { statementEntryId, statementMonths } from '../../db/income.ts'
import { rankOf } from '../../db/leaderboard.ts'
import type { ReadList } from '../../db/lists.ts'
import { proofOf } from '../../db/log.ts'
import { findRecord } from '../../db/records.ts'
import { listEntries, standingOf } from '../../db/reputation.ts'
import { findWorker, workerRows } from '../../db/workers.ts'
import type { Handlers } from '../handler-types.ts'
import { readPage, sinceOf, walletIdOf } from '../lists.ts'

const noStatement =
  'The month has no statement, since no receipt counts in it (see /docs/statements#closing).'
const notYet = 'The statement is not in the published log yet. Try again in a few seconds.'

/** @throws ApiError 404 */
async function statementAt(
  list: ReadList,
  { wallet, month }: { readonly wallet: string; readonly month: string },
) {
  const { id } = parseWallet(wallet)
  const found = await list((db) => findRecord(db, 'statements', { wallet: id, month }))
  if (found !== null) return found
  const { open } = await list((db) => statementMonths(db, id))
  throw new ApiError('not_found', open.includes(month) ? openMonthText(month) : noStatement)
}

export function workerHandlers(deps: ActionDeps) {
  const { reader } = deps.database
  return {
    async listWorkers({ query }, { nowMs, list }) {
      const { skill, wallet, since } = query
      const filter = present({ skill, wallet: walletIdOf(wallet), since: sinceOf(since) })
      const { rows, fields } = await readPage(list, query, workerRows(filter))
      return {
        body: {
          ...fields,
          workers: rows.map(({ worker }) => worker),
          computed_at: isoTime(nowMs),
        },
      }
    },
    async getWorker({ params }) {
      const worker = await findWorker(reader, parseWallet(params.wallet).id)
      if (worker === null) throw new ApiError('unknown_worker')
      return { body: worker }
    },
    async listStatements({ params }, { nowMs, list }) {
      const { id, display } = parseWallet(params.wallet)
      const { closed, open } = await list((db) => statementMonths(db, id))
      const url = (month: string) =>
        `${deps.site.url}${pathOf('getStatement', { wallet: display, month })}`
      return {
        body: {
          wallet: display,
          count: closed.length,
          statements: closed.map((row) => ({ ...row, url: url(row.month) })),
          open_months: open.map((month) => ({
            month,
            closes_at_earliest: earliestClosing(month),
          })),
          computed_at: isoTime(nowMs),
        },
      }
    },
    getStatement: async ({ params }, { list }) => ({
      body: (await statementAt(list, params)).body,
    }),
    getStatementCsv: async ({ params }, { list }) => ({
      text: statementCsv((await statementAt(list, params)).body),
    }),
    async getStatementProof({ params }, { list }) {
      const { wallet, month, sha256 } = await statementAt(list, params)
      const proof = await proofOf(reader, 'statement', statementEntryId(wallet, month, sha256))
      if (proof !== null) return { text: proof }
      throw new ApiError('not_found', notYet)
    },
    registerWorker: ({ body }, context) => registerWorker(deps, { ...context, body }),
    claimSpot: ({ body }, context) => claimSpot(deps, { ...context, body }),
    async getReputation({ params, query }, { nowMs, list }) {
      const wallet = parseWallet(params.wallet)
      const [standing, rank, { rows, fields }] = await list((db) => {
        const reading = standingOf(db, wallet.id)
        return Promise.all([
          reading,
          rankOf(db, wallet.id, nowMs),
          readPage((read) => read(db), query, {
            name: 'reputation',
            read: (_db, page) => listEntries(db, wallet, page),
            count: async () => ({ total: (await reading).entries }),
          }),
        ])
      })
      const { total, next_cursor } = fields
      return {
        body: {
          wallet: wallet.display,
          rep_score: scoreAt(standing, nowMs),
          rank,
          receipts_count: standing.receipts,
          total_usdc_lifetime: toUsdc(standing.lifetimeMicroUsdc),
          first_receipt_at: standing.firstReceiptAt,
          last_receipt_at: standing.lastReceiptAt,
          entries_total: total,
          entries: [...rows],
          ...(next_cursor === undefined ? {} : { next_cursor }),
          formula: reputationFormula,
          computed_at: isoTime(nowMs),
        },
      }
    },
  } satisfies Partial<Handlers>
}
