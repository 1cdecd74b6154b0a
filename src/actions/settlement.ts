/**
 * Where a payment stands on the chain, and what follows from it. Used by requests and by the watch alike.
 *
 * One confirmation is enough to deliver, whatever the amount: nobody would wait a quarter of an hour for an answer.
 * Until its block is final a payment is followed, and what a reorganisation undoes is taken back by its effect.
 */
import { ApiError } from '../contract/errors.ts'
import { isoTime, parseTime, secondMs } from '../core/time.ts'
import { claimDelivery, failPayment, findPayment, settlePayment } from '../db/payments/payments.ts'
import type { PaymentRecord, SettledIn } from '../db/payments/record.ts'
import { MOST_LIFE_SECONDS } from '../payments/check.ts'
import type { PaymentsOn } from '../payments/settler.ts'
import type { InstalledDeps } from './deps.ts'
import { paymentEffects } from './payment-effects.ts'

/**
 * `open`: it may settle yet, or has where nobody sees it so far. `spent`: the authorization moved something else, or
 * was cancelled. `dead`: it can never settle any more. Nobody was charged for us in the last two.
 */
export type SettlementStatus =
  | { readonly kind: 'found'; readonly in: SettledIn }
  | { readonly kind: 'spent' | 'dead' | 'open' }

/** A block that late has no room for it; nodes that lag behind are within. */
const SURELY_EXPIRED_SECONDS = 60
/** How long before its reservation an authorization may have been used by somebody who saw it first. */
const SEEN_BEFORE_SECONDS = 1800

type ExpectedTransfer = Parameters<PaymentsOn['chain']['findTransfer']>[0]

/** What was authorized, as the chain tells it. */
export function expectedTransfer(payment: PaymentRecord): ExpectedTransfer {
  const { payer: from, payTo, amountMicroUsdc, nonce } = payment
  return { from, to: payTo.toLowerCase(), value: BigInt(amountMicroUsdc), nonce }
}

/**
 * Looks on the chain, whoever sent the transaction.
 * @throws SettlementUnavailableError
 */
export async function settlementStatus(
  { chain }: Pick<PaymentsOn, 'chain'>,
  payment: PaymentRecord,
): Promise<SettlementStatus> {
  const meant = expectedTransfer(payment)
  if (payment.txHash !== null) {
    const fate = await chain.transactionOutcome(payment.txHash, meant)
    if (fate.kind === 'transferred') return { kind: 'found', in: fate }
  }
  return await findSettlement({ chain }, payment)
}

/** The same without believing the noted hash. */
export async function findSettlement(
  { chain }: Pick<PaymentsOn, 'chain'>,
  payment: PaymentRecord,
): Promise<SettlementStatus> {
  const meant = expectedTransfer(payment)
  if (!(await chain.isSpent(meant))) {
    const { timestamp } = await chain.head('latest')
    if (timestamp < payment.validBefore + SURELY_EXPIRED_SECONDS) return { kind: 'open' }
    // Asked again: a machine that slept between the two looks has not seen what was mined meanwhile.
    if (!(await chain.isSpent(meant))) return { kind: 'dead' }
  }
  const since = (parseTime(payment.reservedAt) ?? 0) / secondMs - SEEN_BEFORE_SECONDS
  const found = await chain.findTransfer(meant, since)
  if (found === null) return { kind: 'open' }
  return found === 'elsewhere' ? { kind: 'spent' } : { kind: 'found', in: found }
}

/**
 * What became in its time of an authorization that has run out by now, whoever brought it to the chain. `open`: it was
 * used, and nobody sees by what.
 * @throws SettlementUnavailableError
 */
export async function findTimelySettlement(
  { chain }: Pick<PaymentsOn, 'chain'>,
  meant: ExpectedTransfer,
  validBefore: number,
): Promise<SettlementStatus> {
  if (!(await chain.isSpent(meant))) return { kind: 'dead' }
  const since = validBefore - MOST_LIFE_SECONDS - SEEN_BEFORE_SECONDS
  const found = await chain.findTransfer(meant, since, validBefore)
  if (found === null) return { kind: 'open' }
  return found === 'elsewhere' ? { kind: 'spent' } : { kind: 'found', in: found }
}

/**
 * Writes down that the money has moved, with what that sets in motion, and takes the right to deliver where `deliver`
 * says so. True where the right was had: once for each payment.
 */
export async function settle(
  deps: InstalledDeps,
  payment: Pick<PaymentRecord, 'id' | 'chainId' | 'asset' | 'payer' | 'nonce'>,
  foundIn: SettledIn,
  deliver: () => boolean,
): Promise<{ readonly delivered: boolean; readonly payment: PaymentRecord }> {
  const nowMs = deps.clock.now()
  const now = isoTime(nowMs)
  const done = await deps.database.write(async (tx) => {
    const isFirst = await settlePayment(tx, payment.id, foundIn, now)
    const delivered = deliver() && (await claimDelivery(tx, payment.id, now))
    const settled = await findPayment(tx, payment)
    if (settled === null) throw new Error('a payment that settles has a row')
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

/** Writes down that nothing will come of it. */
export async function abandonPayment(
  { database, log }: Pick<InstalledDeps, 'database' | 'log'>,
  { id }: Pick<PaymentRecord, 'id'>,
  reason: string,
): Promise<void> {
  await database.write((tx) => failPayment(tx, id, reason))
  log.info('payment given up', { payment: id, reason })
}

/** What a payer whose payment is under way is told: no challenge, which would be paid a second time. */
export function settlementPending(headers: Readonly<Record<string, string>>): ApiError {
  return new ApiError(
    'settlement_pending',
    'Repeat the request with the same payment; do not sign another one',
    { headers: { ...headers, 'Retry-After': '3' } },
  )
}
