/** One confirmation is enough to deliver. Payments are followed until final; a reorganisation undoes their effect. */
import { ApiError } from '../contract/errors.ts'
import { isoTime, parseTime, secondMs } from '../core/time.ts'
import { failPayment, findPayment, settlePayment } from '../db/payments.ts'
import type { PaymentRecord, SettledIn, PaymentPurpose } from '../db/payments.ts'
import type { DbTransaction } from '../db/schema.ts'
import { MOST_LIFE_SECONDS } from '../payments/check.ts'
import type { PaymentsOn } from '../payments/settler.ts'
import type { InstalledDeps } from './deps.ts'
import { subscriptionPaid, subscriptionUndone } from './subscriptions/effect.ts'

/** `open`: the payment may settle. `spent`: cancelled or used for another transfer. `dead`: it can never settle. */
export type SettlementStatus =
  | { readonly kind: 'found'; readonly in: SettledIn }
  | { readonly kind: 'spent' | 'dead' | 'open' }

const SURELY_EXPIRED_SECONDS = 60
/** A stranger may have used an authorization up to this long before its reservation. */
const SEEN_BEFORE_SECONDS = 1800

type ExpectedTransfer = Parameters<PaymentsOn['chain']['findTransfer']>[0]

export function expectedTransfer(payment: PaymentRecord): ExpectedTransfer {
  const { payer: from, payTo, amountMicroUsdc, nonce } = payment
  return { from, to: payTo.toLowerCase(), value: BigInt(amountMicroUsdc), nonce }
}

/** Finds the transfer, regardless of its sender. @throws SettlementUnavailableError */
export async function settlementStatus(
  { chain }: Pick<PaymentsOn, 'chain'>,
  payment: PaymentRecord,
): Promise<SettlementStatus> {
  const transfer = expectedTransfer(payment)
  if (payment.txHash !== null) {
    const fate = await chain.transactionOutcome(payment.txHash, transfer)
    if (fate.kind === 'transferred') return { kind: 'found', in: fate }
  }
  return await findSettlement({ chain }, payment)
}

/** Like `settlementStatus`, but without the stored hash. */
export async function findSettlement(
  { chain }: Pick<PaymentsOn, 'chain'>,
  payment: PaymentRecord,
): Promise<SettlementStatus> {
  const transfer = expectedTransfer(payment)
  if (!(await chain.isSpent(transfer))) {
    const { timestamp } = await chain.head('latest')
    if (timestamp < payment.validBefore + SURELY_EXPIRED_SECONDS) return { kind: 'open' }
    // Checks again: a suspended machine has missed blocks.
    if (!(await chain.isSpent(transfer))) return { kind: 'dead' }
  }
  const since = (parseTime(payment.reservedAt) ?? 0) / secondMs - SEEN_BEFORE_SECONDS
  return statusOf(await chain.findTransfer(transfer, since))
}

/** The result of an expired authorization; `open`: used, but no transfer found. @throws SettlementUnavailableError */
export async function findTimelySettlement(
  { chain }: Pick<PaymentsOn, 'chain'>,
  transfer: ExpectedTransfer,
  validBefore: number,
): Promise<SettlementStatus> {
  if (!(await chain.isSpent(transfer))) return { kind: 'dead' }
  const since = validBefore - MOST_LIFE_SECONDS - SEEN_BEFORE_SECONDS
  return statusOf(await chain.findTransfer(transfer, since, validBefore))
}

function statusOf(found: SettledIn | 'elsewhere' | null): SettlementStatus {
  if (found === null) return { kind: 'open' }
  return found === 'elsewhere' ? { kind: 'spent' } : { kind: 'found', in: found }
}

/** Settles a payment with its effects, and claims the delivery with `deliver`. `delivered` is true once per payment. */
export async function settle(
  deps: InstalledDeps,
  payment: Pick<PaymentRecord, 'id' | 'chainId' | 'asset' | 'payer' | 'nonce'>,
  foundIn: SettledIn,
  deliver: (tx: DbTransaction) => boolean | Promise<boolean>,
): Promise<{ readonly delivered: boolean; readonly payment: PaymentRecord }> {
  const nowMs = deps.clock.now()
  const now = isoTime(nowMs)
  const done = await deps.database.write(async (tx) => {
    const isFirst = await settlePayment(tx, payment.id, foundIn, now)
    const delivered = await deliver(tx)
    const settled = await findPayment(tx, payment)
    if (settled === null) throw new Error('settled payment has no row')
    if (isFirst) await paymentEffects[settled.purpose].settled(deps, tx, settled, nowMs)
    return { delivered, payment: settled, isFirst }
  })
  if (done.isFirst) {
    const { id, purpose, txHash } = done.payment
    deps.log.info('payment settled', { payment: id, purpose, tx_hash: txHash })
    if (purpose !== 'read') deps.requestBuild()
  }
  return done
}

export async function abandonPayment(
  { database, log }: Pick<InstalledDeps, 'database' | 'log'>,
  { id }: Pick<PaymentRecord, 'id'>,
  reason: string,
): Promise<void> {
  await database.write((tx) => failPayment(tx, id, reason))
  log.info('payment given up', { payment: id, reason })
}

/** Contains no payment terms, since the payer might pay again. */
export function settlementPending(headers: Readonly<Record<string, string>>): ApiError {
  return new ApiError(
    'settlement_pending',
    'Repeat the request with the same payment; do not sign a new one',
    { headers: { ...headers, 'Retry-After': '3' } },
  )
}

type Effect = (
  deps: InstalledDeps,
  tx: DbTransaction,
  payment: PaymentRecord,
  nowMs: number,
) => Promise<void>

interface PaymentEffect {
  /** Must not fail, since the money has moved. */
  readonly settled: Effect
  readonly undone: Effect
}

const nothing = () => Promise.resolve()

/** Run once, in the transaction that settles the payment, even after a crash or a closed connection. */
export const paymentEffects: Readonly<Record<PaymentPurpose, PaymentEffect>> = {
  read: { settled: nothing, undone: nothing },
  subscription: { settled: subscriptionPaid, undone: subscriptionUndone },
}
