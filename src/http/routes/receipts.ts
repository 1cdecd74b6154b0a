import type { ActionDeps } from '../../actions/deps.ts'
import { submitReceipt } from '../../actions/receipts.ts'
import { ApiError } from '../../contract/errors.ts'
import { isoTime } from '../../core/time.ts'
import { receiptDetailOf, receiptView } from '../../db/receipts/view.ts'
import type { Handlers } from '../handler-types.ts'
import { receiptRows } from '../listed-rows.ts'
import { readPage } from '../pages.ts'
import { present, sinceOf, walletIdOf } from '../query.ts'

export function receiptHandlers(deps: ActionDeps) {
  const { siteUrl } = deps
  const { reader } = deps.database
  return {
    async listReceipts({ query }, { nowMs, list }) {
      const { rail, wallet, chain, status, since } = query
      const filter = present({
        rail,
        wallet: walletIdOf(wallet),
        chain,
        status,
        since: sinceOf(since),
      })
      const { rows, fields } = await readPage(list, query, receiptRows(filter))
      return {
        body: {
          ...fields,
          receipts: rows.map((row) => receiptView(row, siteUrl)),
          computed_at: isoTime(nowMs),
        },
      }
    },
    async getReceipt({ params }) {
      const body = await receiptDetailOf(reader, params.id, siteUrl)
      if (body === null) throw new ApiError('unknown_receipt')
      return { body }
    },
    submitReceipt: ({ body }, context) => submitReceipt(deps, { ...context, body }),
  } satisfies Partial<Handlers>
}
