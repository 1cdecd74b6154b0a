/** Receipts that stand in one transaction, each as if it had come alone, in their order. */
import type { Transaction } from 'kysely'

import { applyEntry } from '../core/reputation.ts'
import type { Standing } from '../core/reputation.ts'
import { insertGroup, lookUpGroup } from '../db/receipts/group.ts'
import type { ReceiptLookup, LookupResult, GroupRows } from '../db/receipts/group.ts'
import { recordOf } from '../db/receipts/record.ts'
import type { NewReceipt } from '../db/receipts/record.ts'
import type { LedgerWallet } from '../db/reputation-rows.ts'
import { grantEntry } from '../db/reputation.ts'
import type { Database } from '../db/schema.ts'
import { acceptedView, grantOf, isReceiptKey, payerOf } from './accepted-receipt.ts'
import { answersToKeep } from './idempotency.ts'
import type { Outcome, SignedProof, WriteRequest } from './idempotency.ts'

export interface Submission {
  readonly request: WriteRequest
  readonly proof: SignedProof
  readonly draft: NewReceipt
}

/** Answers null for each that is not plainly new: nothing of it is written. */
export async function acceptGroup(
  tx: Transaction<Database>,
  group: readonly Submission[],
  siteUrl: string,
): Promise<readonly (Outcome | null)[]> {
  const found = await lookUpGroup(tx, group.map(askedOf))
  const fold = createFold(siteUrl)
  const outcomes = group.map((submission, at) => {
    const known = found[at]
    return known === undefined ? null : fold.take(submission, known)
  })
  await insertGroup(tx, fold.rows())
  return outcomes
}

function askedOf({ draft, proof, request }: Submission): ReceiptLookup {
  return {
    receiptId: draft.id,
    submitter: proof.wallet.id,
    worker: draft.to.id,
    payer: payerOf(draft),
    messageSha256: proof.messageSha256,
    idempotencyKey: request.idempotencyKey,
  }
}

type List<Name extends keyof GroupRows> = GroupRows[Name][number][]

/** Keeps what the receipts before have changed, so that the next one is judged by it. */
function createFold(siteUrl: string) {
  const receipts: List<'receipts'> = []
  const entries: List<'entries'> = []
  const messages: List<'messages'> = []
  const keys: List<'keys'> = []
  const standings = new Map<string, { wallet: LedgerWallet; standing: Standing }>()
  const ranks = new Map<string, number>()
  const seen = new Set<string>()

  /** True the first time that one of the three comes up in this group. */
  const isFirst = (submission: Submission): boolean => {
    const { receiptId, submitter, messageSha256, idempotencyKey } = askedOf(submission)
    const marks = [receiptId, `message ${submitter} ${messageSha256}`]
    if (idempotencyKey !== null) marks.push(`key ${submitter} ${idempotencyKey}`)
    const before = seen.size
    for (const mark of marks) seen.add(mark)
    return seen.size === before + marks.length
  }

  /** What it earns, and the standing of the worker after it. */
  const grant = (draft: NewReceipt, known: LookupResult) => {
    const standing = standings.get(draft.to.id)?.standing ?? known.standing
    const granted = grantOf(draft)
    if (granted === null)
      return { earnedMicroUsdc: 0, decayedSumAtEpoch: standing.decayedSumAtEpoch }
    const pair = `${draft.to.id} ${granted.payer}`
    const entry = grantEntry(granted, ranks.get(pair) ?? known.lastRank)
    if (entry.payerRank !== null) ranks.set(pair, entry.payerRank)
    const next = applyEntry(standing, entry)
    entries.push({ wallet: draft.to, entry })
    standings.set(draft.to.id, { wallet: draft.to, standing: next })
    return { earnedMicroUsdc: entry.valueMicroUsdc, decayedSumAtEpoch: next.decayedSumAtEpoch }
  }

  return {
    take(submission: Submission, known: LookupResult): Outcome | null {
      const { draft, request, proof } = submission
      const isNew = isFirst(submission) && !known.isKnown
      if (!isNew || !isReceiptKey(known.receiptKey, draft)) return null
      const { nowMs } = request
      receipts.push(draft)
      const body = acceptedView(recordOf(draft), { ...grant(draft, known), siteUrl, nowMs })
      const outcome = { status: 201, body } as const
      const kept = answersToKeep({ request, proofs: [proof], outcome })
      messages.push(...kept.messages)
      keys.push(...kept.keys)
      return outcome
    },
    rows: (): GroupRows => ({
      receipts,
      entries,
      standings: [...standings.values()],
      messages,
      keys,
    }),
  }
}
