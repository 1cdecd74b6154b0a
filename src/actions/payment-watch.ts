/** Follows submitted payments after a restart, and settled ones until their block is final. */
import { repeatEvery } from '../core/concurrency.ts'
import { numbered } from '../core/number-text.ts'
import { isoTime, minuteMs, secondMs } from '../core/time.ts'
import { takeLease } from '../db/leases.ts'
import {
  countPayments,
  paymentsToFinalize,
  submittedPayments,
  closePayment,
  dropStaleReservations,
} from '../db/payments.ts'
import type { PaymentCounts, PaymentRecord } from '../db/payments.ts'
import type { PaymentsOn } from '../payments/settler.ts'
import type { InstalledDeps } from './deps.ts'
import {
  paymentEffects,
  abandonPayment,
  expectedTransfer,
  settle,
  settlementStatus,
} from './settlement.ts'

const INTERVAL_MS = minuteMs
const PART = 200
const STALE_SECONDS = 300
/** After this time the chain shows the result of every expired payment. */
const OVERDUE_SECONDS = 600

export function createPaymentWatch(deps: InstalledDeps) {
  const { payments, clock, log } = deps
  let counted: readonly string[] = []

  async function round(on: PaymentsOn): Promise<void> {
    const nowSeconds = Math.floor(clock.now() / secondMs)
    await deps.database.write((tx) => dropStaleReservations(tx, nowSeconds - STALE_SECONDS))
    await on.inspect()
    const lease = { name: 'payment watch', holder: on.holder, ttlMs: 1.5 * INTERVAL_MS }
    if ((await deps.database.write((tx) => takeLease(tx, lease))) === null) return
    const { submitted, notFinal, undone } = await count()
    if (submitted + notFinal > 0) await on.chain.requireChain()
    if (submitted > 0) await resolveSubmitted(deps, on)
    if (notFinal > 0) await finalize(deps, on)
    const left = await count()
    if (left.undone > undone) log.error('payments were undone', { undone: left.undone })
  }

  const count = async (): Promise<PaymentCounts> => {
    const nowSeconds = Math.floor(clock.now() / secondMs)
    return await countPayments(deps.database.reader, nowSeconds - OVERDUE_SECONDS)
  }

  const attempt = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      log.warn('the check of pending payments failed', { reason })
    }
  }
  const run = async (): Promise<void> => {
    if (payments.mode !== 'off') await attempt(() => round(payments))
    // Overdue payments are reported even without a chain or with payments switched off.
    await attempt(async () => {
      counted = problemsOf(await count())
    })
  }
  return {
    run,
    async runEvery(signal: AbortSignal) {
      await run()
      await repeatEvery(INTERVAL_MS, run, { clock, signal })
    },
    problems: (): readonly string[] => [...payments.problems(), ...counted],
  }
}

function problemsOf({ undone, overdue }: PaymentCounts): readonly string[] {
  return [
    ...(overdue === 0
      ? []
      : [`settlement: ${numbered(overdue, 'payment')} expired without a known result`]),
    ...(undone === 0
      ? []
      : [`settlement: a reorganisation undid ${numbered(undone, 'settled payment')} permanently`]),
  ]
}

async function* eachRow(
  read: (part: {
    readonly afterSeq: number
    readonly limit: number
  }) => Promise<readonly PaymentRecord[]>,
): AsyncGenerator<PaymentRecord> {
  for (let afterSeq = 0; ;) {
    const part = await read({ afterSeq, limit: PART })
    yield* part
    const last = part.at(-1)
    if (last === undefined || part.length < PART) return
    afterSeq = last.seq
  }
}

async function resolveSubmitted(deps: InstalledDeps, on: PaymentsOn): Promise<void> {
  const { reader } = deps.database
  for await (const payment of eachRow((part) => submittedPayments(reader, part))) {
    if (on.inFlight.has(`${payment.payer}:${payment.nonce}`)) continue
    const standing = await settlementStatus(on, payment)
    // The answer counts as not delivered: the payer may still request it.
    if (standing.kind === 'found') await settle(deps, payment, standing.in, () => false)
    else if (standing.kind !== 'open') await abandonPayment(deps, payment, standing.kind)
  }
}

async function finalize(deps: InstalledDeps, on: PaymentsOn): Promise<void> {
  const head = await on.chain.head('finalized')
  const { reader } = deps.database
  for await (const payment of eachRow((part) => paymentsToFinalize(reader, head.number, part))) {
    const standing = await settlementStatus(on, payment)
    if (standing.kind === 'found') {
      if (standing.in.blockNumber > head.number) continue
      const { txHash, blockNumber, blockHash } = standing.in
      const final = { finality: 'final', finalAt: isoTime(deps.clock.now()) } as const
      await deps.database.write((tx) =>
        closePayment(tx, payment.id, { ...final, txHash, blockNumber, blockHash }),
      )
    } else if (standing.kind === 'spent' || (await isLost(on, payment, head))) {
      await undo(deps, payment)
    }
  }
}

async function isLost(
  { chain }: PaymentsOn,
  payment: PaymentRecord,
  { timestamp }: { readonly timestamp: number },
): Promise<boolean> {
  if (timestamp < payment.validBefore) return false
  return !(await chain.isSpent(expectedTransfer(payment), 'finalized'))
}

async function undo(deps: InstalledDeps, payment: PaymentRecord): Promise<void> {
  const nowMs = deps.clock.now()
  await deps.database.write(async (tx) => {
    const reason = 'a reorganisation removed the transfer'
    if (!(await closePayment(tx, payment.id, { finality: 'undone', reason }))) return
    await paymentEffects[payment.purpose].undone(deps, tx, payment, nowMs)
  })
  const { id, payer, amountMicroUsdc, txHash } = payment
  deps.log.error('payment undone', {
    payment: id,
    payer,
    amount_micro_usdc: amountMicroUsdc,
    tx_hash: txHash,
  })
}
