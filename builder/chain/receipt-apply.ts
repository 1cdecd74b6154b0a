/** Stores the verdicts on the receipts of a transaction, with reputation, flags and events. */
import type { Kysely } from 'kysely'

import type { Random } from '../../src/core/deps.ts'
import { toUsdc } from '../../src/core/money.ts'
import { hourMs, isoTime, minuteMs } from '../../src/core/time.ts'
import { closeFlagWithEvent, openFlagWithEvent } from '../../src/db/flags.ts'
import { receiptsOfTransaction, saveCheck } from '../../src/db/receipts/checks.ts'
import type { ReceiptCheck, CheckedReceipt, ReceiptOutcome } from '../../src/db/receipts/checks.ts'
import { deleteRecords, updateRecord } from '../../src/db/records.ts'
import { grantOnchain, reverseReceipt } from '../../src/db/reputation.ts'
import type { Database } from '../../src/db/schema.ts'
import type { TransactionFacts } from './receipt-facts.ts'
import { amountOf, verdictOf } from './receipt-verdict.ts'
import type { Verdict } from './receipt-verdict.ts'

/** Numbers of receipts by the result of a run. `waiting`: the transaction is in an unsafe block, in no block, or unknown. */
export const noTally = {
  checked: 0,
  verified: 0,
  provisional: 0,
  waiting: 0,
  failed: 0,
  reversed: 0,
  errors: 0,
} as const satisfies Record<string, number>
export type Tally = Record<keyof typeof noTally, number>

interface ApplyDeps {
  readonly random: Random
  readonly nowMs: number
  readonly tally: Tally
}

const recheckMs = 55 * minuteMs
const finalRecheckMs = 24 * hourMs

export async function applyFacts(
  tx: Kysely<Database>,
  { chain, txHash }: { readonly chain: string; readonly txHash: string },
  facts: TransactionFacts,
  deps: ApplyDeps,
): Promise<void> {
  const receipts = await receiptsOfTransaction(tx, chain, txHash)
  if (facts.kind === 'error') {
    deps.tally.errors += receipts.length
    return
  }
  const now = isoTime(deps.nowMs)
  const moved = new Set(receipts.filter((receipt) => isReorganised(receipt, facts)))
  // Releases all log indexes before any is used again, since a log has another index in another block.
  for (const receipt of moved) {
    await deleteRecords(tx, 'receipt_checks', { receiptId: receipt.id })
  }
  const usedLogIndexes = new Set(
    receipts.flatMap((receipt) => {
      const place = receipt.check?.logIndex ?? null
      return place === null || moved.has(receipt) ? [] : [place]
    }),
  )
  const found: Parameters<typeof applyVerdict>[] = []
  for (const receipt of receipts) {
    const isMoved = moved.has(receipt)
    if (!isMoved && isSettled(receipt, deps.nowMs)) continue
    // A missing receipt proves nothing if the node still has the block.
    const isWithheld = 'gone' in facts && (receipt.check?.blockHash ?? null) !== null
    if (!isMoved && isWithheld) {
      deps.tally.errors += 1
      continue
    }
    const verdict = verdictOf(receipt, facts, deps.nowMs, usedLogIndexes)
    if (verdict === null) continue
    deps.tally.checked += 1
    if (isMoved && isShown(receipt)) {
      const block = receipt.check?.blockNumber ?? null
      const reason = `The transaction is no longer in block ${block ?? 'unknown'}: the chain was reorganised`
      const why = { reason, evidence: { was_block: block }, isShown: true }
      await reverseVerdict(tx, receipt, why, deps)
    }
    if ('transfer' in verdict) usedLogIndexes.add(verdict.transfer.logIndex)
    await saveCheck(tx, receipt, checkOf(receipt, verdict, now, isMoved))
    const amountMicroUsdc = amountOf(receipt, verdict)
    if (amountMicroUsdc !== receipt.amountMicroUsdc) {
      await updateRecord(tx, 'receipts', { id: receipt.id }, { amountMicroUsdc })
    }
    const measured = { ...receipt, amountMicroUsdc }
    found.push([tx, measured, verdict, isMoved && isShown(receipt), deps])
  }
  // Rejections first, since one receipt of a transaction counts: a rejected one must not count when another is verified.
  const rank = ([, , verdict]: (typeof found)[number]) => Number(!isRejection(verdict))
  for (const one of found.toSorted((a, b) => rank(a) - rank(b))) await applyVerdict(...one)
}

/** Returns true if the block was replaced or the transaction is now in another block. */
function isReorganised({ check }: CheckedReceipt, facts: TransactionFacts): boolean {
  const hash = check?.blockHash ?? null
  if (hash === null) return false
  if (facts.kind === 'mined' || facts.kind === 'reverted') return facts.block.hash !== hash
  return 'gone' in facts && facts.gone.includes(hash)
}

function isShown({ check }: CheckedReceipt): boolean {
  return check?.verdict === 'safe' || check?.verdict === 'final'
}

function isSettled({ onchain, check }: CheckedReceipt, nowMs: number): boolean {
  if (onchain !== 'verified' || check === null) return false
  return check.nextAt === null || Date.parse(check.nextAt) > nowMs
}

function checkOf(
  { check: before }: CheckedReceipt,
  verdict: Verdict,
  now: string,
  isMoved: boolean,
): ReceiptCheck {
  const isMissing = verdict.verdict === 'not_found'
  const since = before?.firstMissingAt ?? now
  const isSame = before?.verdict === verdict.verdict && !isMoved
  const missed = isMissing ? (before?.consecutiveNotFound ?? 0) + 1 : 0
  const block = 'block' in verdict ? verdict.block : null
  const transfer = 'transfer' in verdict ? verdict.transfer : null
  return {
    verdict: verdict.verdict,
    reason: 'reason' in verdict ? verdict.reason : null,
    blockNumber: block?.number ?? null,
    blockHash: block?.hash ?? null,
    blockAt: block === null ? null : isoTime(block.atMs),
    logIndex: transfer?.logIndex ?? null,
    payer: transfer?.payer ?? null,
    attempts: (before?.attempts ?? 0) + 1,
    consecutiveNotFound: missed,
    firstMissingAt: isMissing ? since : null,
    verdictAt: isSame ? before.verdictAt : now,
    checkedAt: now,
    nextAt: nextAt(verdict, { isSame, missed }, Date.parse(now)),
  }
}

/** The pause doubles while the transaction is not found: an invented one is checked 6 times before its rejection. */
function nextAt(
  verdict: Verdict,
  { isSame, missed }: { readonly isSame: boolean; readonly missed: number },
  nowMs: number,
): string | null {
  if (verdict.verdict === 'final') return isSame ? null : isoTime(nowMs + finalRecheckMs)
  if (isRejection(verdict) && !('block' in verdict && verdict.block.finality !== 'final'))
    return null
  return isoTime(nowMs + recheckMs * 2 ** Math.max(0, missed - 1))
}

function isRejection(verdict: Verdict): boolean {
  if (verdict.verdict === 'not_found') return verdict.isOver
  return verdict.verdict === 'reverted' || verdict.verdict === 'mismatch'
}

/** `wasReversed`: this check has already reversed the reputation. */
async function applyVerdict(
  tx: Kysely<Database>,
  receipt: CheckedReceipt,
  verdict: Verdict,
  wasReversed: boolean,
  deps: ApplyDeps,
): Promise<void> {
  const { tally, nowMs } = deps
  const now = isoTime(nowMs)
  const save = async (outcome: ReceiptOutcome): Promise<void> => {
    await updateRecord(tx, 'receipts', { id: receipt.id }, { ...outcome, onchainCheckedAt: now })
  }
  if (verdict.verdict === 'final') {
    if (receipt.onchain === 'verified' && !wasReversed) return
    tally.verified += 1
    const { number } = verdict.block
    await grantOnchain(tx, {
      wallet: { id: receipt.toWallet, display: receipt.toDisplay },
      receiptId: receipt.id,
      payer: verdict.transfer.payer,
      chain: receipt.chain,
      txHash: receipt.txHash,
      amountMicroUsdc: receipt.amountMicroUsdc,
      reason: `verified on ${receipt.chain} in block ${number}`,
      now,
    })
    if (receipt.check !== null) {
      const flag = { kind: 'receipt_reversed', rail: receipt.rail, subject: receipt.id }
      await closeFlagWithEvent(tx, deps.random, flag, now, `verified in block ${number}`)
    }
    return await save({ verification: 'verified', verificationReason: null, onchain: 'verified' })
  }
  if (isRejection(verdict) && 'reason' in verdict) {
    if (receipt.onchain === 'failed') return
    tally.failed += 1
    const { reason } = verdict
    await reverseVerdict(tx, receipt, { reason, evidence: {}, isShown: false }, deps)
    return await save({ verification: 'rejected', verificationReason: reason, onchain: 'failed' })
  }
  tally[verdict.verdict === 'safe' ? 'provisional' : 'waiting'] += 1
  const outcome = pendingOutcome(receipt, verdict, wasReversed)
  const isSame =
    outcome.verification === receipt.verification &&
    outcome.verificationReason === receipt.verificationReason &&
    receipt.check?.verdict === verdict.verdict &&
    receipt.onchain === 'pending'
  if (!isSame) await save(outcome)
}

/** A platform's verification stays until the chain contradicts it; a worker's own claim waits for the chain. */
function pendingOutcome(
  receipt: CheckedReceipt,
  verdict: Verdict,
  wasReversed: boolean,
): ReceiptOutcome {
  const isPlatformClaim = receipt.verification === 'verified' && !wasReversed
  return {
    verification: isPlatformClaim ? 'verified' : 'pending',
    verificationReason: isPlatformClaim
      ? receipt.verificationReason
      : waitingReason(verdict, wasReversed),
    onchain: 'pending',
  }
}

function waitingReason(verdict: Verdict, wasReversed: boolean): string {
  const reason =
    'reason' in verdict
      ? verdict.reason
      : verdict.verdict === 'safe'
        ? `In block ${verdict.block.number}, which is safe but not yet final`
        : `In block ${verdict.block.number}, which may still be reorganised`
  return wasReversed ? `The block was reorganised. ${reason}` : reason
}

/** Reverses the reputation. Opens a flag if the receipt had given reputation or was shown as verified. */
async function reverseVerdict(
  tx: Kysely<Database>,
  receipt: CheckedReceipt,
  why: { readonly reason: string; readonly evidence: object; readonly isShown: boolean },
  { random, nowMs, tally }: ApplyDeps,
): Promise<void> {
  const now = isoTime(nowMs)
  const wallet = { id: receipt.toWallet, display: receipt.toDisplay }
  const reversal = { receiptId: receipt.id, reason: why.reason, now }
  const standing = await reverseReceipt(tx, wallet, reversal)
  if (standing === null && !why.isShown) return
  tally.reversed += 1
  await openFlagWithEvent(tx, random, {
    kind: 'receipt_reversed',
    rail: receipt.rail,
    subject: receipt.id,
    severity: receipt.onchain === 'verified' ? 'critical' : 'warning',
    title: `A receipt of ${toUsdc(receipt.amountMicroUsdc)} USDC on ${receipt.rail} is no longer verified`,
    evidence: {
      receipt_id: receipt.id,
      chain: receipt.chain,
      tx_hash: receipt.txHash,
      amount_usdc: toUsdc(receipt.amountMicroUsdc),
      reason: why.reason,
      had_earned: standing !== null,
      ...why.evidence,
    },
    openedAt: now,
  })
}
