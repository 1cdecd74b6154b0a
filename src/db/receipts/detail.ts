import { receiptDetail } from '../../contract/schemas/receipt.ts'
import type { ReceiptDetail } from '../../contract/schemas/receipt.ts'
import { toUsdc } from '../../core/money.ts'
import { earnedBy } from '../reputation.ts'
import type { Db } from '../schema.ts'
import { contentOfReceipt, findReceipt } from './receipts.ts'
import { receiptView } from './view.ts'

export async function receiptDetailOf(
  db: Db,
  id: string,
  siteUrl: string,
): Promise<ReceiptDetail | null> {
  const record = await findReceipt(db, id)
  if (record === null) return null
  const content = receiptDetail.shape.content.parse(await contentOfReceipt(db, id))
  return {
    ...receiptView(record, siteUrl),
    content,
    rep_delta: toUsdc(await earnedBy(db, id)),
    ...(record.check === undefined ? {} : { onchain_checked_at: record.check.checkedAt }),
  }
}
