/** Receipts. */
import type { z } from 'zod'

import type { ActionDeps } from '../../actions/deps.ts'
import { submitReceipt } from '../../actions/receipts.ts'
import { ApiError } from '../../contract/errors.ts'
import { receiptBody } from '../../contract/schemas/receipt.ts'
import type { receiptList } from '../../contract/schemas/receipt.ts'
import { isoTime, parseTime } from '../../core/time.ts'
import { parseWallet } from '../../core/wallet.ts'
import { receiptDetailOf } from '../../db/receipts/detail.ts'
import { countReceipts, listReceipts } from '../../db/receipts/receipts.ts'
import type { ReceiptFilter } from '../../db/receipts/receipts.ts'
import { receiptView } from '../../db/receipts/view.ts'
import { fingerprintOf } from '../client-fingerprint.ts'
import type { ReadContext } from '../handler-context.ts'
import { read, write } from '../handlers.ts'
import { cutPage, pageOf } from '../pages.ts'

const LIST = 'receipts'

export function receiptHandlers(deps: ActionDeps) {
  const { siteUrl } = deps
  const { reader } = deps.database
  return {
    listReceipts: read(async ({ query, nowMs }) => {
      const { limit, before } = pageOf(LIST, query)
      const filter = filterOf(query)
      const [rows, total] = await Promise.all([
        listReceipts(reader, { limit: limit + 1, before, filter }),
        countReceipts(reader, filter),
      ])
      const page = cutPage(LIST, rows, limit)
      const body: z.infer<typeof receiptList> = {
        count: page.rows.length,
        total,
        receipts: page.rows.map((row) => receiptView(row, siteUrl)),
        ...page.next,
        computed_at: isoTime(nowMs),
      }
      return { body }
    }),
    getReceipt: read(async ({ params }) => {
      const body = await receiptDetailOf(reader, params['id'] ?? '', siteUrl)
      if (body === null) throw new ApiError('unknown_receipt')
      return { body }
    }),
    submitReceipt: write(receiptBody, (sent) =>
      submitReceipt(deps, { ...sent, fingerprint: fingerprintOf(sent) }),
    ),
  }
}

function filterOf(query: ReadContext['query']): ReceiptFilter {
  const { rail, wallet, chain, status, since } = query
  return {
    ...(rail === undefined ? {} : { rail }),
    ...(wallet === undefined ? {} : { wallet: parseWallet(wallet).id }),
    ...(chain === undefined ? {} : { chain }),
    ...(status === undefined ? {} : { status }),
    ...(since === undefined ? {} : { since: isoTime(parseTime(since) ?? 0) }),
  }
}
