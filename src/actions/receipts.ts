/** `POST /receipts`: a payment enters the ledger, once. */
import type { Kysely } from 'kysely'

import { messages } from '../auth/messages.ts'
import { ApiError } from '../contract/errors.ts'
import type { ReceiptBody } from '../contract/schemas/receipt.ts'
import type { JsonObject } from '../core/canonical-json.ts'
import { findReceipt, insertReceipt } from '../db/receipts/receipts.ts'
import type { NewReceipt, ReceiptRecord } from '../db/receipts/record.ts'
import { earnedBy, grantReceipt, standingOf } from '../db/reputation.ts'
import type { Database } from '../db/schema.ts'
import { findWorker } from '../db/workers.ts'
import { acceptedView, grantOf, isReceiptKey } from './accepted-receipt.ts'
import type { ClientFingerprint } from './client-fingerprint.ts'
import type { ActionDeps } from './deps.ts'
import { commitOnce } from './idempotency.ts'
import type { Outcome, WriteRequest } from './idempotency.ts'
import { draftReceipt } from './receipt-draft.ts'
import type { Submission } from './receipt-group.ts'
import { enqueueReceipt } from './receipt-queue.ts'
import { requireWallet, verifySignedBody } from './signed-body.ts'
import { chargeNetworkQuota, enforceUnverifiedReceiptQuota } from './write-quotas.ts'

/** Answers what the receipt came to: 201, or 200 where its content was there already. */
export async function submitReceipt(
  deps: ActionDeps,
  sent: {
    readonly body: ReceiptBody
    readonly json: JsonObject
    readonly request: WriteRequest
    readonly fingerprint: Pick<ClientFingerprint, 'network' | 'range'>
  },
): Promise<Outcome> {
  const { json, body, request, fingerprint } = sent
  const { nowMs } = request
  // A wallet that calls too often has neither checked.
  await request.precheckWalletLimit?.(requireWallet(body.wallet, 'wallet'))
  // Both signatures are checked at once. Where neither holds, the wallet's is told of.
  const [proving, drafting] = await Promise.allSettled([
    verifySignedBody(deps, request, { json, ...body, message: messages.receipt }),
    draftReceipt(deps, { body, json, nowMs }),
  ])
  const proof = valueOf(proving)
  const draft = valueOf(drafting)
  const submission = { request, proof, draft }
  // What its worker alone has signed is bounded, which no group looks after.
  const taken = draft.kind === 'platform' ? await enqueueReceipt(deps, submission) : null
  return taken ?? (await acceptSingleReceipt(deps, { ...submission, fingerprint }))
}

function valueOf<Value>(settled: PromiseSettledResult<Value>): Value {
  if (settled.status === 'rejected') throw settled.reason
  return settled.value
}

/** Decides on one receipt by itself: also on a repeat, and on one that is refused. */
export async function acceptSingleReceipt(
  deps: Pick<ActionDeps, 'database' | 'keyedHash' | 'requestBuild' | 'siteUrl'>,
  sent: Submission & { readonly fingerprint: Pick<ClientFingerprint, 'network' | 'range'> },
): Promise<Outcome> {
  const { request, proof, draft, fingerprint } = sent
  const { siteUrl } = deps
  const { nowMs } = request
  return await commitOnce(deps, request, [proof], async (tx) => {
    const { isNew, record } = await acceptReceipt(tx, draft, async () => {
      if (draft.kind !== 'signed') return
      await enforceUnverifiedReceiptQuota(tx, draft.to.id, nowMs)
      await chargeNetworkQuota(tx, deps, { kind: 'receipt', fingerprint, nowMs })
    })
    const { decayedSumAtEpoch } = await standingOf(tx, record.toWallet)
    const earnedMicroUsdc = await earnedBy(tx, record.id)
    const answer = acceptedView(record, { earnedMicroUsdc, decayedSumAtEpoch, siteUrl, nowMs })
    return { status: isNew ? 201 : 200, body: answer }
  })
}

/**
 * Stores a receipt whose signatures were checked, and what it earns at once. A content that is
 * there already changes nothing; `enforceQuota` is asked before one that is new.
 * @throws ApiError 403 where the worker has named another key for its receipts.
 */
export async function acceptReceipt(
  tx: Kysely<Database>,
  draft: NewReceipt,
  enforceQuota: () => Promise<void> = () => Promise.resolve(),
): Promise<{ readonly isNew: boolean; readonly record: ReceiptRecord }> {
  if (draft.kind === 'signed') await requireReceiptKey(tx, draft)
  const known = await findReceipt(tx, draft.id)
  if (known !== null) return { isNew: false, record: known }
  await enforceQuota()
  const isNew = await insertReceipt(tx, draft)
  const grant = grantOf(draft)
  if (isNew && grant !== null) await grantReceipt(tx, grant)
  const record = await findReceipt(tx, draft.id)
  if (record === null) throw new Error('a receipt is gone in its own transaction')
  return { isNew, record }
}

async function requireReceiptKey(tx: Kysely<Database>, draft: NewReceipt): Promise<void> {
  const worker = await findWorker(tx, draft.to.id)
  if (isReceiptKey(worker?.receipt_key ?? null, draft)) return
  throw new ApiError('forbidden', 'The worker has registered another receipt_key')
}
