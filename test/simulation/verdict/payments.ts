/** Judges payments: nothing is settled before it is recorded, bought twice, or counted other than on the chain. */
import type { Authorization } from '../../../src/payments/authorization.ts'
import { keyOf } from '../chain/usdc.ts'
import type { End } from '../chain/usdc.ts'
import type { PaidRead, PaymentWorld } from '../chain/world.ts'
import { headerOf } from '../http-call.ts'
import type { Answer } from '../http-call.ts'
import { siteUrl } from '../requests.ts'
import type { Run } from '../run.ts'
import type { Watcher } from './ledger.ts'
import type { RowOf, Snapshot } from './snapshot.ts'

type Payment = RowOf<'payments'>

export function createPaymentsVerdict(
  { fail, log }: Pick<Run, 'fail' | 'log'>,
  { chain, receiver, reads }: Pick<PaymentWorld, 'chain' | 'receiver' | 'reads'>,
  current: () => Snapshot,
) {
  /** Payments whose answer was received. */
  const bought = new Set<string>()

  const keyFor = ({ payment, isPaid }: PaidRead): string | null =>
    payment !== null && isPaid ? keyOf(payment.authorization) : null
  const rowOf = (key: string): Payment | undefined =>
    current().payments.find((row) => rowKey(row) === key)
  const received = (): readonly End[] =>
    chain
      .ends()
      .filter(({ call }) => call.kind === 'transfer' && call.to === receiver.toLowerCase())

  function problemOf(before: Payment | undefined, after: Payment | undefined): string | null {
    if (after === undefined) return before?.state === 'reserved' ? null : 'it is forgotten'
    if (before?.state === 'settled' && after.state !== 'settled') return 'it is settled no longer'
    if (before && before.delivered_at !== null && before.delivered_at !== after.delivered_at)
      return 'it is delivered twice'
    if (after.state === 'failed' && chain.isPayable(rowKey(after), after.valid_before))
      return 'it is given up while it can be mined'
    if (after.state !== 'settled' || after.finality === 'undone') return null
    const { tx_hash: txHash, block_hash: blockHash } = after
    const end = txHash === null || blockHash === null ? null : chain.endIn(txHash, blockHash)
    const isThere =
      end?.call.kind === 'transfer' &&
      keyOf(end.call) === rowKey(after) &&
      end.call.value === BigInt(after.amount_micro_usdc)
    return isThere ? null : 'no block has such a transfer'
  }

  const isDelivered = (key: string): boolean => (rowOf(key)?.delivered_at ?? null) !== null

  const watcher: Watcher = {
    observe: (changes, { before, after }) => {
      for (const { table, before: old, after: now } of changes) {
        if (table !== 'payments') continue
        const find = (db: Snapshot) => db.payments.find(({ id }) => id === (now ?? old)?.['id'])
        const [earlier, row] = [find(before), find(after)]
        const problem = problemOf(earlier, row)
        log(`    payment ${row?.nonce.slice(0, 10) ?? ''} is ${row?.state ?? 'none'}`)
        if (problem !== null) fail(`the payment ${JSON.stringify(row ?? earlier)}: ${problem}`)
      }
    },
  }

  return {
    ...watcher,
    /** Called with a payment before the ledger submits it. */
    handedOver: (authorization: Authorization, txHash: string): void => {
      const row = rowOf(keyOf(authorization))
      const isRecorded = row?.state === 'submitted' && row.tx_hash === txHash
      if (!isRecorded) fail(`a payment is submitted while it is ${row?.state ?? 'unknown'}`)
    },
    answered: (paid: PaidRead, answer: Answer): 'bought' | 'refused' | 'later' => {
      if (answer.status >= 500) return 'later'
      if (answer.status !== 200) return 'refused'
      const key = keyFor(paid)
      if (key === null || !isDelivered(key)) fail(`#${paid.number}: it has not paid for that`)
      else if (bought.has(key)) fail(`#${paid.number}: a payment buys twice`)
      else bought.add(key)
      if (headerOf(answer, 'payment-response') === null) fail(`#${paid.number}: no settlement`)
      return 'bought'
    },
    /** A restored file has forgotten the later deliveries, so that these payments buy their answer once more. */
    restore: (): void => {
      for (const key of bought) if (!isDelivered(key)) bought.delete(key)
    },
    /** Reads that are paid and not yet delivered: a repeat must be answered. */
    owed: (): readonly PaidRead[] =>
      received().flatMap(({ call }) => {
        const key = keyOf(call)
        const row = rowOf(key)
        if (isDelivered(key) || row?.state === 'reconcile') return []
        const own = reads.filter((paid) => keyFor(paid) === key)
        return own.find(({ path }) => `${siteUrl}${path}` === row?.resource) ?? own.slice(0, 1)
      }),
    /** At the end of a run, each transfer is settled and delivered once, and the sums are those of the chain. */
    balance: (): void => {
      const keys = new Set(reads.map(keyFor))
      const isHeld = (key: string) => rowOf(key)?.state === 'reconcile'
      const moved = received().filter(({ call }) => keys.has(keyOf(call)) && !isHeld(keyOf(call)))
      let sum = 0n
      for (const { call, block } of moved) {
        const key = keyOf(call)
        const row = rowOf(key)
        if (call.kind === 'transfer') sum += call.value
        const isFinal = row?.finality === 'final' && row.block_hash === block.hash
        if (!isFinal) fail(`${key} is paid, and in the ledger ${row?.state ?? 'unknown'}`)
        else if (!isDelivered(key)) fail(`${key} is paid and was never delivered`)
      }
      const counted = current()
        .payments.filter(({ state, finality }) => state === 'settled' && finality !== 'undone')
        .reduce((total, row) => total + row.amount_micro_usdc, 0)
      if (BigInt(counted) !== sum) fail(`the ledger counts ${counted}, and the chain ${sum}`)
    },
  }
}

function rowKey({ payer, nonce }: Pick<Payment, 'payer' | 'nonce'>): string {
  return keyOf({ from: payer, nonce })
}
