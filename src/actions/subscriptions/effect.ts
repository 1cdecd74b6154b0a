/** Effects of a settled subscription payment: the paid time, the oath history and the stored answers for repeats. */
import { z } from 'zod'

import type { OwnSubscription } from '../../contract/schemas/partner.ts'
import type { JsonObject } from '../../core/canonical-json.ts'
import { toUsdc } from '../../core/money.ts'
import { PERIOD_MS, extended, tierNames, withoutPayment } from '../../core/partner.ts'
import { dayMs, isoTime } from '../../core/time.ts'
import { parseWallet } from '../../core/wallet.ts'
import { findIdempotencyKey, findUsedMessage, insertAnswers } from '../../db/guard.ts'
import { toJsonText } from '../../db/json.ts'
import { appendOath } from '../../db/oaths.ts'
import { findPartner, changeByPayment, setSubscription } from '../../db/partners.ts'
import type { PaymentRecord } from '../../db/payments.ts'
import { insertRecord } from '../../db/records.ts'
import type { DbTransaction } from '../../db/schema.ts'
import type { InstalledDeps } from '../deps.ts'
import { partnerAt } from '../partner-access.ts'
import type { CurrentPartner } from '../partner-access.ts'
import { writeRow } from '../partner-write.ts'
import { subscriptionView } from './terms.ts'

const sha256 = z.string().length(64)

/** Stored with the payment: the service may have to finish without the request. */
export const subscriptionDetail = z.strictObject({
  handle: z.string(),
  tier: z.enum(tierNames),
  wallet: z.string(),
  message_sha256: sha256,
  signature_sha256: sha256,
  raw_sha256: sha256,
  request_sha256: sha256,
  binding: z.enum(['path', 'body']),
  message_expires_at: z.string(),
  idempotency_key: z.string().nullable(),
})
type Detail = z.infer<typeof subscriptionDetail>

export async function subscriptionPaid(
  deps: InstalledDeps,
  tx: DbTransaction,
  payment: PaymentRecord,
  nowMs: number,
): Promise<void> {
  const detail = subscriptionDetail.parse(payment.detail)
  const { handle, tier } = detail
  const partner = await findPartner(tx, { handle })
  if (partner === null) throw new Error(`a payment is for ${handle}, which is not a partner`)
  const paidMicroUsdc = payment.amountMicroUsdc
  const bought = { tier, priceMicroUsdc: paidMicroUsdc, addedMs: PERIOD_MS }
  const { subscription, fromMs, untilMs } = extended(partner.subscription, bought, nowMs)
  const change = {
    kind: 'paid',
    tier,
    paid_usdc: toUsdc(paidMicroUsdc),
    from: isoTime(fromMs),
    until: isoTime(untilMs),
    payer: parseWallet(payment.payer).display,
    tx_hash: payment.txHash,
  } as const
  const done = { nowMs, change, paymentId: payment.id, paidMicroUsdc }
  const answer = await recordChange(deps, tx, { ...partner, subscription }, done)
  const { message_sha256: messageSha256, signature_sha256: signatureSha256, binding } = detail
  const proof = { wallet: { id: detail.wallet }, messageSha256, signatureSha256 }
  const facts = { handle, action: 'changeSubscription', bodySha256: detail.raw_sha256, binding }
  await appendOath(tx, writeRow(proof, { ...facts, nowMs }))
  await storeAnswer(tx, payment.id, detail, { body: answer, nowMs })
}

interface RecordedChange {
  readonly nowMs: number
  readonly change: OwnSubscription['change']
  readonly paymentId?: string
  readonly paidMicroUsdc?: number
}

/** Stores the subscription of the partner and its change; returns the answer of the request. */
export async function recordChange(
  deps: Pick<InstalledDeps, 'reference'>,
  tx: DbTransaction,
  partner: CurrentPartner,
  done: RecordedChange,
): Promise<OwnSubscription> {
  const { nowMs, change, ...money } = done
  const { handle, subscription } = partner
  const createdAt = isoTime(nowMs)
  await setSubscription(tx, handle, subscription, createdAt)
  const answer = subscriptionView(deps.reference(), partnerAt(partner, nowMs), change)
  await insertRecord(tx, 'subscription_changes', {
    handle,
    kind: change.kind,
    paymentId: null,
    tier: change.tier,
    paidMicroUsdc: 0,
    fromAt: change.from,
    untilAt: change.until,
    answer,
    createdAt,
    ...money,
  })
  return answer
}

/** The money has moved, so a message or key used in the meantime is not refused. The first stored answer remains. */
async function storeAnswer(
  tx: DbTransaction,
  paymentId: string,
  detail: Detail,
  { body, nowMs }: { readonly body: object; readonly nowMs: number },
): Promise<void> {
  const { wallet, message_sha256: messageSha256, idempotency_key: key } = detail
  const answerId = `payment ${paymentId}`
  const expiresAt = isoTime(nowMs + dayMs)
  const answer = { requestSha256: detail.request_sha256, status: 200, answer: toJsonText(body) }
  const message = { wallet, messageSha256, expiresAt: detail.message_expires_at }
  const isUsed = (await findUsedMessage(tx, message)) !== null
  const isKept =
    key === null || (await findIdempotencyKey(tx, wallet, key, isoTime(nowMs))) !== null
  await insertAnswers(tx, {
    answers: [{ id: answerId, ...answer, expiresAt }],
    messages: isUsed ? [] : [{ ...message, answerId }],
    keys: isKept ? [] : [{ caller: wallet, key, answerId, expiresAt }],
  })
}

export async function subscriptionUndone(
  deps: InstalledDeps,
  tx: DbTransaction,
  payment: PaymentRecord,
  nowMs: number,
): Promise<void> {
  const { handle } = subscriptionDetail.parse(payment.detail)
  const [partner, change] = [
    await findPartner(tx, { handle }),
    await changeByPayment(tx, payment.id),
  ]
  if (partner === null || change === null) return
  const subscription = withoutPayment(partner.subscription, change.paidMicroUsdc, nowMs)
  const now = isoTime(nowMs)
  await setSubscription(tx, handle, subscription, now)
  const { seq: _, ...bought } = change
  await insertRecord(tx, 'subscription_changes', {
    ...bought,
    kind: 'undone',
    answer: {} satisfies JsonObject,
    createdAt: now,
  })
  deps.log.error('the payment of a subscription was undone', { handle, payment: payment.id })
}
