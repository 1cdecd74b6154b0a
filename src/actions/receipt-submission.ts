import { messages } from '../auth/messages.ts'
import type { ChainReceiptBody, ReceiptBody } from '../contract/schemas/receipt.ts'
import { keptRows, writeQuotas } from '../core/limits.ts'
import { contentOfReceipt } from '../db/receipts/receipts.ts'
import type { NewReceipt } from '../db/receipts/receipts.ts'
import type { Db } from '../db/schema.ts'
import { unverifiedReceipts } from '../db/write-quotas.ts'
import type { ActionDeps } from './deps.ts'
import { commitOnce } from './idempotency.ts'
import type { OutcomeOf } from './idempotency.ts'
import { acceptOne } from './receipt-acceptance.ts'
import type { AcceptedOutcome, Submission } from './receipt-acceptance.ts'
import { draftReceipt } from './receipt-draft.ts'
import { draftFromChain } from './receipt-from-chain.ts'
import { promiseOf, receiptLogOf } from './receipt-log.ts'
import { enqueueReceipt } from './receipt-queue.ts'
import { requireWallet, verifySignedBody } from './signed-body.ts'
import type { IncomingWrite } from './signed-body.ts'
import { enforceRowQuota } from './write-quotas.ts'

/** Returns 201, or 200 for stored content. */
export async function submitReceipt(
  deps: ActionDeps,
  write: IncomingWrite<ReceiptBody | ChainReceiptBody>,
): Promise<OutcomeOf<'submitReceipt'>> {
  const { json, body, request } = write
  const { nowMs } = request
  // Runs before verification, so that a wallet over its limit causes no work.
  await write.admission.precheck(requireWallet(body.wallet, 'wallet'))
  // Verified concurrently; if both fail, the error names the wallet's signature.
  const proven = verifySignedBody(deps, write, messages.receipt)
  const [proving, drafting] = await Promise.allSettled([
    proven,
    'amount_usdc' in body
      ? draftReceipt(deps, { body, json, nowMs })
      : proven.then(() => draftFromChain(deps, { ...write, body })),
  ])
  const proof = valueOf(proving)
  const draft = valueOf(drafting)
  const submission = { request, proof, draft }
  // A group does not enforce the quotas of receipts without a platform.
  const accepted =
    (draft.kind === 'platform' ? await enqueueReceipt(deps, submission) : null) ??
    (await acceptSingleReceipt(deps, submission))
  return await withLog(deps, draft, accepted)
}

async function withLog(
  { database, ledgerLog }: ActionDeps,
  draft: NewReceipt,
  { status, body }: AcceptedOutcome,
): Promise<OutcomeOf<'submitReceipt'>> {
  const { id } = draft
  const known = { id, acceptedAt: body.accepted_at }
  const { reader } = database
  const { signer } = ledgerLog
  // A receipt with the same id may have been accepted with another signature.
  const log =
    status === 201
      ? promiseOf(signer, { ...known, content: draft.content })
      : await receiptLogOf(reader, signer, {
          ...known,
          content: await contentOfReceipt(reader, id),
        })
  return { status, body: { ...body, log } }
}

function valueOf<Value>(settled: PromiseSettledResult<Value>): Value {
  if (settled.status === 'rejected') throw settled.reason
  return settled.value
}

export async function acceptSingleReceipt(
  deps: Pick<ActionDeps, 'database' | 'requestBuild' | 'site'>,
  submission: Submission,
): Promise<AcceptedOutcome> {
  const { request, proof, draft } = submission
  // A platform is responsible for the receipts that it issues.
  const free = { ...request, chargeStorage: () => undefined }
  const accept = (tx: Db) =>
    acceptOne(tx, submission, deps.site.url, async () => {
      if (draft.kind === 'platform') return
      const earlier = unverifiedReceipts(tx, draft.toWallet)
      await enforceRowQuota(writeQuotas.unverifiedReceipts, request.nowMs, earlier, 'accepted_at')
    })
  const rows = keptRows.receipt + (draft.txHash === null ? 0 : keptRows.transaction)
  const terms = { ...(draft.kind === 'platform' ? free : request), rows, locks: [draft.toWallet] }
  return await commitOnce(deps, terms, [proof], accept)
}
