import { messages } from '../auth/messages.ts'
import type { ReceiptBody } from '../contract/schemas/receipt.ts'
import type { JsonObject } from '../core/canonical-json.ts'
import type { WalletAdmission } from '../limits/admission.ts'
import type { ClientFingerprint } from './client-fingerprint.ts'
import type { ActionDeps } from './deps.ts'
import { commitOnce } from './idempotency.ts'
import type { OutcomeOf, WriteRequest } from './idempotency.ts'
import { acceptOne } from './receipt-acceptance.ts'
import type { Submission } from './receipt-acceptance.ts'
import { draftReceipt } from './receipt-draft.ts'
import { enqueueReceipt } from './receipt-queue.ts'
import { requireWallet, verifySignedBody } from './signed-body.ts'
import { chargeNetworkQuota, enforceUnverifiedReceiptQuota } from './write-quotas.ts'

/** Returns 201, or 200 for stored content. */
export async function submitReceipt(
  deps: ActionDeps,
  sent: {
    readonly body: ReceiptBody
    readonly json: JsonObject
    readonly request: WriteRequest
    readonly admission: WalletAdmission
    readonly fingerprint: Pick<ClientFingerprint, 'network' | 'range'>
  },
): Promise<OutcomeOf<'submitReceipt'>> {
  const { json, body, request, fingerprint } = sent
  const { nowMs } = request
  // Before verification, so that a wallet over its limit causes no work.
  await sent.admission.precheck(requireWallet(body.wallet, 'wallet'))
  // Verified concurrently; if both fail, the error names the wallet's signature.
  const [proving, drafting] = await Promise.allSettled([
    verifySignedBody(deps, sent, { json, ...body, message: messages.receipt }),
    draftReceipt(deps, { body, json, nowMs }),
  ])
  const proof = valueOf(proving)
  const draft = valueOf(drafting)
  const submission = { request, proof, draft }
  // Self-signed receipts have quotas, which groups do not enforce.
  const accepted = draft.kind === 'platform' ? await enqueueReceipt(deps, submission) : null
  return accepted ?? (await acceptSingleReceipt(deps, { ...submission, fingerprint }))
}

function valueOf<Value>(settled: PromiseSettledResult<Value>): Value {
  if (settled.status === 'rejected') throw settled.reason
  return settled.value
}

export async function acceptSingleReceipt(
  deps: Pick<ActionDeps, 'database' | 'keyedHash' | 'requestBuild' | 'siteUrl'>,
  sent: Submission & { readonly fingerprint: Pick<ClientFingerprint, 'network' | 'range'> },
): Promise<OutcomeOf<'submitReceipt'>> {
  const { request, proof, draft, fingerprint } = sent
  const { nowMs } = request
  return await commitOnce(deps, request, [proof], (tx) =>
    acceptOne(tx, sent, deps.siteUrl, async () => {
      if (draft.kind !== 'signed') return
      await enforceUnverifiedReceiptQuota(tx, draft.to.id, nowMs)
      await chargeNetworkQuota(tx, deps, { kind: 'receipt', fingerprint, nowMs })
    }),
  )
}
