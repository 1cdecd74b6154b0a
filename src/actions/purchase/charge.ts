/** The part of a purchase in which the money moves: handed over once, waited for, and answered. */
import { isoTime } from '../../core/time.ts'
import { setPaymentHash, submitPayment } from '../../db/payments/payments.ts'
import type { PaymentRecord, SettledIn } from '../../db/payments/record.ts'
import { SettlementUnavailableError } from '../../payments/authorization.ts'
import type { PaymentsOn } from '../../payments/settler.ts'
import {
  abandonPayment,
  expectedTransfer,
  settlementPending,
  findSettlement,
  settle,
} from '../settlement.ts'
import type { SettlementStatus } from '../settlement.ts'
import { alreadyUsed, purchaseResult, refusal, stillPending } from './sale.ts'
import type { PurchaseResult, Sale } from './sale.ts'

/** Hands the authorization over, waits for it to be mined, and delivers. */
export async function charge<T>(
  sale: Sale<T>,
  reserved: PaymentRecord,
  { value, gas }: { readonly value: T; readonly gas: bigint },
): Promise<PurchaseResult<T>> {
  const { deps, payments, asked, authorization, key } = sale
  const { terms } = asked
  if (asked.isGone()) throw settlementPending(stillPending(key.payer, null))
  const record = async (txHash: string | null): Promise<void> => {
    const now = isoTime(deps.clock.now())
    const noted = await deps.database.write((tx) => submitPayment(tx, reserved.id, { txHash, now }))
    if (!noted) throw settlementPending(stillPending(key.payer, null))
  }
  // Once noted it stays so, also where a node refuses it: the words of one node are no proof that none has it.
  const { txHash } = await payments.settler.submit(authorization, { gas, terms }, record)
  if (txHash !== null && payments.settler.mode === 'facilitator') {
    await deps.database.write((tx) => setPaymentHash(tx, reserved.id, txHash))
  }
  const foundIn = await mined(sale, { ...reserved, txHash })
  return await deliver(sale, reserved, { value, in: foundIn })
}

/**
 * Waits for the transfer.
 * @throws ApiError 503 where it is not seen in time; 402 where it can no longer come.
 */
async function mined<T>(sale: Sale<T>, submitted: PaymentRecord): Promise<SettledIn> {
  const { deps, payments, asked, key } = sale
  const { txHash } = submitted
  const pausesMs = [0, ...payments.pausesMs]
  const patienceMs = pausesMs.reduce((sum, pauseMs) => sum + pauseMs, 0)
  const beganMs = deps.clock.monotonic()
  for (const [look, pauseMs] of pausesMs.entries()) {
    if (pauseMs > 0) await deps.clock.sleep(pauseMs)
    const standing = await lookFor(payments, submitted)
    if (standing.kind === 'found') return standing.in
    // A node that stalls takes its time for each look.
    const isOver = deps.clock.monotonic() - beganMs >= patienceMs || look === pausesMs.length - 1
    if (!isOver) continue
    if (standing.kind === 'open') break
    // Of several nodes behind one address one may lag: bad news are believed when patience ends.
    await abandonPayment(deps, submitted, standing.kind)
    if (standing.kind === 'spent') {
      const details = 'The authorization was cancelled, or used for another transfer'
      throw refusal(asked, 'authorization_already_used', details, key.payer, txHash)
    }
    throw refusal(asked, 'payment_refused', 'The transfer did not go through', key.payer, txHash)
  }
  payments.settler.resetNonce()
  throw settlementPending(stillPending(key.payer, txHash))
}

/** One look, as cheap as it can be while nothing has been mined. What cannot be seen now is seen later. */
async function lookFor(payments: PaymentsOn, submitted: PaymentRecord): Promise<SettlementStatus> {
  try {
    if (submitted.txHash === null) return await findSettlement(payments, submitted)
    const fate = await payments.chain.transactionOutcome(
      submitted.txHash,
      expectedTransfer(submitted),
    )
    if (fate.kind === 'transferred') return { kind: 'found', in: fate }
    // A success without the transfer cannot be: that node knows nothing.
    if (fate.kind === 'unknown' || fate.kind === 'other') return { kind: 'open' }
    // It failed: by the end of its time, or because a stranger's copy of it came first.
    const standing = await findSettlement(payments, submitted)
    return standing.kind === 'open' ? { kind: 'dead' } : standing
  } catch (error) {
    if (!(error instanceof SettlementUnavailableError)) throw error
    return { kind: 'open' }
  }
}

async function deliver<T>(
  sale: Sale<T>,
  { id }: PaymentRecord,
  bought: { readonly value: T; readonly in: SettledIn },
): Promise<PurchaseResult<T>> {
  const { deps, asked, key } = sale
  const { delivered, payment } = await settle(
    deps,
    { ...key, id },
    bought.in,
    () => !asked.isGone(),
  )
  if (delivered) return purchaseResult(payment, bought.value)
  if (payment.deliveredAt !== null) throw alreadyUsed(sale)
  // Nobody is there to be told; who comes back with the same payment is served.
  throw settlementPending(stillPending(key.payer, payment.txHash))
}
