/** `POST /receipts`: a payment enters the ledger, once. */
import type { Kysely } from 'kysely'

import { messages } from '../auth/messages.ts'
import { ApiError } from '../contract/errors.ts'
import type { AcceptedReceipt, ReceiptBody } from '../contract/schemas/receipt.ts'
import type { JsonObject } from '../core/canonical-json.ts'
import { jobExchange, noPaymentReason } from '../core/job.ts'
import { toUsdc } from '../core/money.ts'
import { evidenceTenths, scoreAt } from '../core/reputation.ts'
import { findReceipt, insertReceipt, receiptView } from '../db/receipts.ts'
import type { NewReceipt, ReceiptRecord } from '../db/receipts.ts'
import { earnedBy, grantReceipt, standingOf } from '../db/reputation.ts'
import type { Database } from '../db/schema.ts'
import { findWorker } from '../db/workers.ts'
import type { ActionDeps } from './deps.ts'
import { commitOnce } from './effect.ts'
import type { Outcome, WriteRequest } from './effect.ts'
import { draftReceipt } from './receipt-draft.ts'
import { verifySignedBody } from './signed-body.ts'

/** Answers what the receipt came to: 201, or 200 where its content was there already. */
export async function submitReceipt(
  deps: ActionDeps,
  sent: { readonly body: ReceiptBody; readonly json: JsonObject; readonly request: WriteRequest },
): Promise<Outcome> {
  const { json, body, request } = sent
  const { nowMs } = request
  const proof = await verifySignedBody(deps, request, { json, ...body, message: messages.receipt })
  const draft = await draftReceipt(deps, { body, json, proof, nowMs })
  return await commitOnce(deps, request, [proof], async (tx) => {
    const { isNew, record } = await acceptReceipt(tx, draft)
    const answer = await acceptedView(tx, record, { siteUrl: deps.siteUrl, nowMs })
    return { status: isNew ? 201 : 200, body: answer }
  })
}

/**
 * Stores a receipt whose signatures were checked, and what it earns at once: what a platform has issued
 * counts from its acceptance on, everything else only once its chain has confirmed it. What the exchange
 * has issued has an entry that weighs nothing and says why. A content that is
 * there already changes nothing.
 * @throws ApiError 403 where the worker has named another key for its receipts.
 */
export async function acceptReceipt(
  tx: Kysely<Database>,
  draft: NewReceipt,
): Promise<{ readonly isNew: boolean; readonly record: ReceiptRecord }> {
  if (draft.kind === 'signed') await requireReceiptKey(tx, draft)
  const isNew = await insertReceipt(tx, draft)
  if (isNew && draft.verification === 'verified') {
    await grantReceipt(tx, {
      wallet: draft.to,
      receiptId: draft.id,
      payer: payerOf(draft),
      amountMicroUsdc: draft.amountMicroUsdc,
      ...worthOf(draft),
      now: draft.acceptedAt,
    })
  }
  const record = await findReceipt(tx, draft.id)
  if (record === null) throw new Error('a receipt is gone in its own transaction')
  return { isNew, record }
}

function worthOf({ platform }: NewReceipt): { readonly tenths: number; readonly reason: string } {
  if (platform === jobExchange.platform) {
    return { tenths: evidenceTenths.exchange, reason: noPaymentReason }
  }
  return { tenths: evidenceTenths.platform, reason: `issued by ${platform ?? 'a platform'}` }
}

/** Whoever paid; where a platform does not say, its receipts all count as of one payer. */
function payerOf(draft: NewReceipt): string {
  return draft.from?.id ?? `platform:${draft.platform ?? ''}`
}

async function requireReceiptKey(tx: Kysely<Database>, draft: NewReceipt): Promise<void> {
  const worker = await findWorker(tx, draft.to.id)
  const key = worker?.receipt_key?.replace(/^ed25519:/, '')
  if (key === undefined || key === draft.publicKey) return
  throw new ApiError('forbidden', 'The worker has registered another receipt_key')
}

async function acceptedView(
  tx: Kysely<Database>,
  record: ReceiptRecord,
  { siteUrl, nowMs }: { readonly siteUrl: string; readonly nowMs: number },
): Promise<AcceptedReceipt> {
  const view = receiptView(record, siteUrl)
  const { epochSum } = await standingOf(tx, record.toWallet)
  return {
    receipt_id: view.receipt_id,
    accepted_at: view.accepted_at,
    kind: view.kind,
    verification: view.verification,
    ...(view.verification_reason === undefined
      ? {}
      : { verification_reason: view.verification_reason }),
    onchain_verified: view.onchain_verified,
    rep_delta: toUsdc(await earnedBy(tx, record.id)),
    new_rep_score: scoreAt(epochSum, nowMs),
    ...(view.explorer_url === undefined ? {} : { explorer_url: view.explorer_url }),
    url: view.url,
  }
}
