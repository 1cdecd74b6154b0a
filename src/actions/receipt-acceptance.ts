import { ApiError } from '../contract/errors.ts'
import type { AcceptedReceipt } from '../contract/schemas/receipt.ts'
import { present } from '../core/entries.ts'
import { jobExchange, noPaymentReason } from '../core/job.ts'
import { firstEntry, sumChanges } from '../core/reputation/entries.ts'
import { quarterOf, toPoints, evidenceTenths } from '../core/reputation/formula.ts'
import { applyEntry, scoreAt } from '../core/reputation/standing.ts'
import type { EpochSums } from '../core/reputation/standing.ts'
import { total } from '../core/rules/flows.ts'
import { isoTime } from '../core/time.ts'
import type { AnswerRows } from '../db/guard.ts'
import { insertGroup, lookUpGroup } from '../db/receipts/group.ts'
import type { GroupRows, LookupResult, ReceiptLookup } from '../db/receipts/group.ts'
import { findReceipt, receiptView } from '../db/receipts/receipts.ts'
import type { NewReceipt, ReceiptRecord } from '../db/receipts/receipts.ts'
import { earnedBy, firstReview, loggedEntry } from '../db/reputation.ts'
import type { Grant } from '../db/reputation.ts'
import type { Db, DbTransaction } from '../db/schema.ts'
import { answerRows } from './idempotency.ts'
import type { Outcome, SignedProof, WriteRequest } from './idempotency.ts'

/** As stored. The answer also has `log`. */
export type AcceptedOutcome = Outcome<Omit<AcceptedReceipt, 'log'>>

export interface Submission {
  readonly request: WriteRequest
  readonly proof: SignedProof
  readonly draft: NewReceipt
}

/** Stores the receipts that are certainly new. Returns null for the others, which `acceptOne` then decides. */
export async function acceptGroup(
  tx: DbTransaction,
  group: readonly Submission[],
  siteUrl: string,
): Promise<readonly (AcceptedOutcome | null)[]> {
  const results = await lookUpGroup(tx, group.map(lookupOf))
  const batch = createBatch(siteUrl)
  const isFirst = createFirstCheck()
  const written: AnswerRows[] = []
  const outcomes = group.map((submission, at) => {
    const { request, proof, draft } = submission
    const known = results[at]
    const isNew = isFirst(submission) && known?.isKnown === false
    if (!isNew || !isReceiptKey(known.receiptKey, draft)) return null
    const outcome = { status: 201, body: batch.add(draft, known, request.nowMs) } as const
    written.push(answerRows({ request, proofs: [proof], outcome }))
    return outcome
  })
  await insertGroup(tx, {
    ...batch.rows(),
    answers: written.flatMap(({ answers }) => answers),
    messages: written.flatMap(({ messages }) => messages),
    keys: written.flatMap(({ keys }) => keys),
  })
  return outcomes
}

/** Returns 201 (after `enforceQuotas`), or 200 if the receipt is stored. @throws ApiError 403 for another receipt key */
export async function acceptOne(
  tx: Db,
  submission: Submission,
  siteUrl: string,
  enforceQuotas: () => Promise<void>,
): Promise<AcceptedOutcome> {
  const { draft, request } = submission
  const { nowMs } = request
  const [known] = await lookUpGroup(tx, [lookupOf(submission)])
  if (known === undefined) throw new Error('receipt lookup has no result')
  if (!isReceiptKey(known.receiptKey, draft)) {
    throw new ApiError(
      'forbidden',
      'The worker has registered another receipt_key: sign with that key, or register this one',
    )
  }
  const stored = await findReceipt(tx, draft.id)
  if (stored !== null) {
    const earnedPoints = await earnedBy(tx, stored.id)
    const facts = { earnedPoints, standing: known.standing, siteUrl, nowMs }
    return { status: 200, body: acceptedView(stored, facts) }
  }
  await enforceQuotas()
  const batch = createBatch(siteUrl)
  const body = batch.add(draft, known, nowMs)
  await insertGroup(tx, { ...batch.rows(), answers: [], messages: [], keys: [] })
  return { status: 201, body }
}

function lookupOf({ draft, proof, request }: Submission): ReceiptLookup {
  return {
    receiptId: draft.id,
    submitter: proof.wallet.id,
    worker: draft.toWallet,
    payer: payerOf(draft),
    chain: draft.chain,
    txHash: draft.txHash,
    now: draft.acceptedAt,
    messageSha256: proof.messageSha256,
    messageExpiresAt: isoTime(proof.expiresAtMs),
    idempotencyKey: request.idempotencyKey,
  }
}

function createFirstCheck(): (submission: Submission) => boolean {
  const seen = new Set<string>()
  return (submission) => {
    const { receiptId, submitter, messageSha256, idempotencyKey, ...lookup } = lookupOf(submission)
    const { worker, chain, txHash } = lookup
    const marks = [receiptId, `message ${submitter} ${messageSha256}`]
    if (idempotencyKey !== null) marks.push(`key ${submitter} ${idempotencyKey}`)
    if (txHash !== null) marks.push(`transaction ${chain} ${txHash} ${worker}`)
    const before = seen.size
    for (const mark of marks) seen.add(mark)
    return seen.size === before + marks.length
  }
}

/** Each receipt is checked against the state after the previous receipts. */
function createBatch(siteUrl: string) {
  const receipts: GroupRows['receipts'][number][] = []
  const entries: GroupRows['entries'][number][] = []
  const logged: GroupRows['logged'][number][] = []
  const standings = new Map<string, GroupRows['standings'][number]>()
  const sums = new Map<string, GroupRows['sums'][number]>()
  const payers = new Map<string, GroupRows['payers'][number]>()
  const reviews: GroupRows['reviews'][number][] = []

  const grant = (draft: NewReceipt, { history, ...known }: LookupResult) => {
    const { toWallet: wallet, toDisplay: display } = draft
    const standing = standings.get(wallet) ?? known.standing
    const granted = grantOf(draft)
    if (granted === null) return { earnedPoints: 0, standing }
    const { payer, now } = granted
    const added = [...new Set([history.party, payer])].map(
      (party) => sums.get(sumKey(wallet, party, quarterOf(now)))?.paidMicroUsdc ?? 0,
    )
    const entry = firstEntry(
      { ...granted, worker: wallet },
      {
        ...history,
        knownSince: history.knownSince ?? payers.get(payer)?.knownSince ?? null,
        paidBeforeMicroUsdc: history.paidBeforeMicroUsdc + total(added),
      },
    )
    for (const { party, quarter, microUsdc } of sumChanges(null, entry)) {
      const key = sumKey(wallet, party, quarter)
      const paidMicroUsdc = (sums.get(key)?.paidMicroUsdc ?? 0) + microUsdc
      sums.set(key, { wallet, party, quarter, paidMicroUsdc, linked: 0 })
    }
    if (history.knownSince === null && !payers.has(payer)) {
      payers.set(payer, { wallet: payer, party: payer, knownSince: now, paysWorkers: 0 })
    }
    const review = firstReview(entry)
    if (review !== null) reviews.push(review)
    const next = { ...applyEntry(standing, entry), wallet, display }
    entries.push({ wallet, ...entry })
    logged.push(loggedEntry({ id: wallet, display }, entry))
    standings.set(wallet, next)
    return { earnedPoints: toPoints(entry.valueMicroPoints), standing: next }
  }

  return {
    add(draft: NewReceipt, known: LookupResult, nowMs: number): AcceptedOutcome['body'] {
      receipts.push(draft)
      return acceptedView(draft, { ...grant(draft, known), siteUrl, nowMs })
    },
    rows: () => ({
      receipts,
      entries,
      logged,
      standings: [...standings.values()],
      sums: [...sums.values()],
      payers: [...payers.values()],
      reviews,
    }),
  }
}

const sumKey = (...parts: readonly [wallet: string, party: string, quarter: string]): string =>
  parts.join(' ')

/** Returns the earnings of a receipt on acceptance; null until it is verified. Receipts of the exchange earn 0. */
export function grantOf(draft: NewReceipt): Grant | null {
  if (draft.verification !== 'verified') return null
  return {
    wallet: { id: draft.toWallet, display: draft.toDisplay },
    receiptId: draft.id,
    payer: payerOf(draft),
    chain: draft.chain,
    txHash: draft.txHash,
    amountMicroUsdc: draft.amountMicroUsdc,
    ...worthOf(draft),
    now: draft.acceptedAt,
  }
}

/** Returns the payer. Receipts without a payer share one payer per platform. */
export function payerOf({ fromWallet, platform }: NewReceipt): string {
  return fromWallet ?? `platform:${platform ?? ''}`
}

function worthOf({ platform }: NewReceipt): Pick<Grant, 'evidence' | 'reason'> {
  if (platform === jobExchange.platform) {
    return { evidence: evidenceTenths.exchange, reason: noPaymentReason }
  }
  return { evidence: evidenceTenths.platform, reason: `issued by ${platform ?? 'a platform'}` }
}

export function isReceiptKey(registered: string | null, draft: NewReceipt): boolean {
  if (draft.kind !== 'signed' || registered === null) return true
  return registered.replace(/^ed25519:/, '') === draft.publicKey
}

export function acceptedView(
  record: Omit<ReceiptRecord, 'seq'>,
  known: {
    readonly earnedPoints: number
    readonly standing: EpochSums
    readonly siteUrl: string
    readonly nowMs: number
  },
): Omit<AcceptedReceipt, 'log'> {
  const view = receiptView(record, known.siteUrl)
  return {
    receipt_id: view.receipt_id,
    accepted_at: view.accepted_at,
    kind: view.kind,
    verification: view.verification,
    ...present({ verification_reason: view.verification_reason }),
    onchain_verified: view.onchain_verified,
    rep_delta: known.earnedPoints,
    new_rep_score: scoreAt(known.standing, known.nowMs),
    ...present({ explorer_url: view.explorer_url }),
    url: view.url,
  }
}
