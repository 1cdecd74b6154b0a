import { sql } from 'kysely'

import { receiptId, signingText, sha256Hex } from '../../auth/messages.ts'
import { signBytes } from '../../auth/signing-key.ts'
import type { SigningKey } from '../../auth/signing-key.ts'
import type { JsonObject } from '../../core/canonical-json.ts'
import {
  answerDays,
  decide,
  jobExchange,
  noPaymentReason,
  jobTextsKeptDays,
} from '../../core/job.ts'
import { toUsdc } from '../../core/money.ts'
import { evidenceTenths } from '../../core/reputation/formula.ts'
import { dayMs, isoTime } from '../../core/time.ts'
import { toJsonText } from '../json.ts'
import type { OpenDatabase } from '../open.ts'
import { insertReceipt } from '../receipts/receipts.ts'
import type { NewReceipt } from '../receipts/receipts.ts'
import { deleteRecords, selectRecords, updateRecord } from '../records.ts'
import { grantReceipt } from '../reputation.ts'
import type { Db } from '../schema.ts'
import { selectJobs, toJob, transitionJob } from './jobs.ts'
import type { JobRecord } from './jobs.ts'
import { jobUrl } from './view.ts'

const expiredPerWrite = 200

/** Returns the number of expired jobs. Safe to run concurrently. */
export async function expireJobs(
  database: Pick<OpenDatabase, 'write'>,
  nowMs: number,
): Promise<number> {
  return await writeInBatches(database, expiredPerWrite, (tx) => expireSome(tx, nowMs))
}

/** Repeats `work`, which returns the number of handled rows, until a batch is not full or the signal aborts; returns the total. */
export async function writeInBatches(
  database: Pick<OpenDatabase, 'write'>,
  limit: number,
  work: (tx: Db) => Promise<number>,
  signal?: AbortSignal,
): Promise<number> {
  let total = 0
  for (;;) {
    if (signal?.aborted === true) return total
    const handled = await database.write(work)
    total += handled
    if (handled < limit) return total
  }
}

async function expireSome(tx: Db, nowMs: number): Promise<number> {
  const now = isoTime(nowMs)
  const due = await tx
    .selectFrom('jobs')
    .select(['id', 'status'])
    .where(sql<boolean>`status in ('open', 'awarded')`)
    .where('deadline', '<=', now)
    .orderBy('deadline')
    .orderBy('seq')
    .limit(expiredPerWrite)
    .execute()
  for (const job of due) {
    await transitionJob(tx, job, {
      event: 'expire',
      role: 'clock',
      statusAfter: 'expired',
      createdAt: now,
    })
  }
  return due.length
}

/** Oldest delivery first. */
async function unansweredJobs(db: Db, nowMs: number, limit: number): Promise<readonly JobRecord[]> {
  const rows = await selectJobs(db)
    .where('jobs.status', '=', 'delivered')
    .where('jobs.updated_at', '<=', isoTime(nowMs - answerDays * dayMs))
    .orderBy('jobs.updated_at')
    .orderBy('jobs.seq')
    .limit(limit)
    .execute()
  return rows.map(toJob)
}

/** `clock`: accepted because the poster did not answer in time. */
export interface Acceptance {
  readonly by: { readonly role: 'poster'; readonly actor: string } | { readonly role: 'clock' }
  readonly key: SigningKey
  readonly siteUrl: string
  readonly nowMs: number
}

/** Returns null and writes nothing if the job has changed. */
export async function writeAcceptance(
  tx: Db,
  job: JobRecord,
  acceptance: Acceptance,
): Promise<NewReceipt | null> {
  const { by, nowMs } = acceptance
  const { award } = job
  if (award === null) throw new Error('a job that was never awarded has a delivery')
  const receipt = jobReceipt(job, award, acceptance)
  const now = isoTime(nowMs)
  const move = { ...by, event: 'accept', statusAfter: 'accepted', createdAt: now } as const
  // Inserts the receipt before the transition, since the job refers to it.
  await insertReceipt(tx, receipt)
  if (!(await transitionJob(tx, job, move, { receiptId: receipt.id }))) return null
  await grantReceipt(tx, {
    wallet: { id: receipt.toWallet, display: receipt.toDisplay },
    receiptId: receipt.id,
    payer: job.poster,
    amountMicroUsdc: receipt.amountMicroUsdc,
    chain: null,
    txHash: null,
    evidence: evidenceTenths.exchange,
    reason: noPaymentReason,
    now,
  })
  return receipt
}

const acceptedPerWrite = 100

/** Returns the number of accepted deliveries. Safe to run concurrently. */
export async function acceptUnanswered(
  database: Pick<OpenDatabase, 'write'>,
  by: Omit<Acceptance, 'by'>,
): Promise<number> {
  return await writeInBatches(database, acceptedPerWrite, async (tx) => {
    const due = await unansweredJobs(tx, by.nowMs, acceptedPerWrite)
    for (const job of due) {
      const decision = decide(job, 'accept', 'clock', by.nowMs)
      if (!decision.ok) throw new Error(`an unanswered job cannot be accepted: ${decision.reason}`)
      await writeAcceptance(tx, job, { ...by, by: { role: 'clock' } })
    }
    return due.length
  })
}

/** Contains the agreed price; the summary states that the exchange moved no money. */
function jobReceipt(
  job: JobRecord,
  award: NonNullable<JobRecord['award']>,
  { by, key, siteUrl, nowMs }: Acceptance,
): NewReceipt {
  const now = isoTime(nowMs)
  const evidenceUrl = jobUrl(siteUrl, job.id)
  const accepted =
    by.role === 'poster'
      ? `The poster of "${job.title}" accepted the work for the agreed price.`
      : `The poster of "${job.title}" neither accepted nor disputed the work within ${answerDays} days, so it counts as accepted for the agreed price.`
  const summary = `${accepted} The exchange issued this receipt for accepted work. The exchange handles no payments and has no evidence of a payment.`
  const unsigned = {
    rail: jobExchange.rail,
    from_wallet: job.posterDisplay,
    to_wallet: award.bidderDisplay,
    amount_usdc: toUsdc(award.priceMicroUsdc),
    asset_symbol: 'USDC',
    occurred_at: now,
    summary,
    job_id: job.id,
    evidence_url: evidenceUrl,
    platform: jobExchange.platform,
    platform_signature: '',
  }
  const signature = signBytes(key, Buffer.from(signingText(unsigned), 'utf8'))
  const content = {
    ...unsigned,
    platform_signature: `ed25519:${Buffer.from(signature).toString('base64')}`,
  }
  return {
    id: receiptId(content),
    kind: 'platform',
    rail: jobExchange.rail,
    chain: null,
    txHash: null,
    fromWallet: job.poster,
    fromDisplay: job.posterDisplay,
    toWallet: award.bidder,
    toDisplay: award.bidderDisplay,
    amountMicroUsdc: award.priceMicroUsdc,
    assetSymbol: 'USDC',
    occurredAt: now,
    summary,
    jobId: job.id,
    evidenceUrl,
    platform: jobExchange.platform,
    publicKey: null,
    authority: null,
    submitter: job.poster,
    content: toJsonText(content),
    verification: 'unverified',
    verificationReason: 'Issued by the exchange for accepted work, without evidence of a payment',
    onchain: 'none',
    acceptedAt: now,
  }
}

/**
 * Removes the texts of unsuccessful jobs and bids. Their SHA-256, parties, amounts and times remain. `settledMs`: a time
 * that has certainly passed. Handles at most `limit` jobs and as many bids; returns the larger number.
 */
export async function removeOldTexts(
  db: Db,
  { nowMs, settledMs }: { readonly nowMs: number; readonly settledMs: number },
  limit: number,
): Promise<number> {
  const before = isoTime(settledMs - jobTextsKeptDays * dayMs)
  const removed = (texts: JsonObject) => ({
    textsSha256: sha256Hex(toJsonText(texts)),
    textsRemovedAt: isoTime(nowMs),
  })
  // Literals, as in the conditions of the indexes.
  const jobs = await selectRecords(db, 'jobs')
    .where(sql<boolean>`status in ('cancelled', 'expired') and texts_removed_at is null`)
    .where('updated_at', '<=', before)
    .orderBy('updated_at')
    .limit(limit)
    .execute()
  for (const { seq, title, description, skills, ...job } of jobs) {
    const texts = removed({ title, description, skills })
    await deleteRecords(db, 'job_skills', { skill: skills, jobSeq: seq })
    await updateRecord(db, 'jobs', { seq }, { title: '', description: '', skills: [], ...texts })
    // Includes the awarded bid of an ended job; the other bids are rejected or lapsed.
    if (job.awardedBid !== null) await removeProposals([job.awardedBid])
  }
  const bids = await selectRecords(db, 'job_bids')
    .where(sql<boolean>`status in ('rejected', 'lapsed') and texts_removed_at is null`)
    .where('updated_at', '<=', before)
    .orderBy('updated_at')
    .limit(limit)
    .execute()
  await removeProposals(bids.map(({ id }) => id))
  return Math.max(jobs.length, bids.length)

  async function removeProposals(ids: readonly string[]): Promise<void> {
    for (const { id, proposal } of await selectRecords(db, 'job_bids', { id: ids }).execute()) {
      await updateRecord(db, 'job_bids', { id }, { proposal: '', ...removed({ proposal }) })
    }
  }
}
