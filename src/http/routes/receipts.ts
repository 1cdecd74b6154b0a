import type { ActionDeps } from '../../actions/deps.ts'
import { receiptLogOf } from '../../actions/receipt-log.ts'
import { submitReceipt } from '../../actions/receipt-submission.ts'
import { ApiError } from '../../contract/errors.ts'
import { canonicalize } from '../../core/canonical-json.ts'
import { present } from '../../core/entries.ts'
import { isoTime } from '../../core/time.ts'
import { proofOf } from '../../db/log.ts'
import {
  findReceipt,
  receiptRows,
  receiptDetailOf,
  receiptView,
} from '../../db/receipts/receipts.ts'
import type { Handlers } from '../handler-types.ts'
import { readPage, sinceOf, walletIdOf } from '../lists.ts'

const notYet =
  'The receipt is not in the published log yet. Try again in a few seconds; `log.promise` of the receipt states the latest time of its entry.'

export function receiptHandlers(deps: ActionDeps) {
  const siteUrl = deps.site.url
  const { reader } = deps.database
  return {
    async listReceipts({ query }, { nowMs, list: read }) {
      const { rail, wallet, chain, status, since, content } = query
      const filter = present({
        rail,
        wallet: walletIdOf(wallet),
        chain,
        status,
        since: sinceOf(since),
      })
      const list = receiptRows(filter, content === 'true')
      const { rows, fields } = await readPage(read, query, list)
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
      const { accepted_at: acceptedAt, content } = body
      const receipt = { id: params.id, acceptedAt, content: canonicalize(content) }
      return { body: { ...body, log: await receiptLogOf(reader, deps.ledgerLog.signer, receipt) } }
    },
    async getReceiptProof({ params: { id } }) {
      const proof = await proofOf(reader, 'receipt', id)
      if (proof !== null) return { text: proof }
      if ((await findReceipt(reader, id)) === null) throw new ApiError('unknown_receipt')
      throw new ApiError('not_found', notYet, { headers: { 'Retry-After': '2' } })
    },
    submitReceipt: ({ body }, context) => submitReceipt(deps, { ...context, body }),
  } satisfies Partial<Handlers>
}
