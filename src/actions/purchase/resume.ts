import { isoTime } from '../../core/time.ts'
import { claimDelivery, takePayment } from '../../db/payments/payments.ts'
import type { PaymentRecord, SettledIn } from '../../db/payments/record.ts'
import { timeProblem } from '../../payments/check.ts'
import { abandonPayment, settlementPending, settle, settlementStatus } from '../settlement.ts'
import { charge } from './charge.ts'
import { alreadyUsed, purchaseResult, matchesPurchase, refusal, stillPending } from './sale.ts'
import type { PurchaseResult, Sale } from './sale.ts'

/** Serves a known payment that has settled and was not delivered. */
export async function resume<T>(sale: Sale<T>, known: PaymentRecord): Promise<PurchaseResult<T>> {
  const { deps, payments, request, key } = sale
  if (!matchesPurchase(known, request)) throw alreadyUsed(sale)
  if (known.state === 'settled') return await serveSettled(sale, known)
  await payments.chain.requireChain()
  const standing = await settlementStatus(payments, known)
  if (standing.kind === 'open') return await resubmit(sale, known)
  if (standing.kind === 'found') return await serveFound(sale, known, standing.in)
  await abandonPayment(deps, known, standing.kind)
  if (standing.kind === 'spent') throw alreadyUsed(sale)
  throw refusal(request, 'payment_expired', 'It expired before it was mined', key.payer)
}

/** Resubmits a transaction unknown to all nodes: the token accepts an authorization once. */
async function resubmit<T>(sale: Sale<T>, known: PaymentRecord): Promise<PurchaseResult<T>> {
  const { deps, payments, request, authorization, key } = sale
  const pending = settlementPending(stillPending(key.payer, known.txHash))
  if (timeProblem(authorization, request.nowMs) !== null) throw pending
  if (known.txHash !== null && (await payments.chain.isKnown(known.txHash))) throw pending
  if (!(await deps.database.write((tx) => takePayment(tx, known, payments.holder)))) throw pending
  const checked = await payments.settler.check(authorization, request.terms)
  if (!checked.ok) throw pending
  return await charge(sale, known, { value: await request.produce(), gas: checked.gas })
}

/** Stores the transfer first, so that the payer can repeat the request if creating the answer fails. */
export async function serveFound<T>(
  sale: Sale<T>,
  { id }: PaymentRecord,
  foundIn: SettledIn,
): Promise<PurchaseResult<T>> {
  const { payment } = await settle(sale.deps, { ...sale.key, id }, foundIn, () => false)
  return await serveSettled(sale, payment)
}

/** Of two concurrent requests, the second finds the answer delivered. */
async function serveSettled<T>(sale: Sale<T>, settled: PaymentRecord): Promise<PurchaseResult<T>> {
  const { deps, request } = sale
  if (settled.deliveredAt !== null || settled.finality === 'undone') throw alreadyUsed(sale)
  const value = await request.produce()
  const now = isoTime(deps.clock.now())
  const delivered = await deps.database.write(
    async (tx) => !request.isGone() && (await claimDelivery(tx, settled.id, now)),
  )
  if (!delivered) throw alreadyUsed(sale)
  return purchaseResult(settled, value)
}
