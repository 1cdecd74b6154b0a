import type { SigningKey } from '../../auth/signing-key.ts'
import { decide, noPaymentReason } from '../../core/job.ts'
import { evidenceTenths } from '../../core/reputation.ts'
import { isoTime } from '../../core/time.ts'
import type { OpenDatabase } from '../open.ts'
import { insertReceipt } from '../receipts/receipts.ts'
import type { NewReceipt } from '../receipts/record.ts'
import { grantReceipt } from '../reputation.ts'
import type { Db } from '../schema.ts'
import { unansweredJobs, writeInBatches } from './deadlines.ts'
import { jobReceipt } from './receipt.ts'
import type { JobRecord } from './record.ts'
import { transitionJob } from './transitions.ts'

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
  { by, key, siteUrl, nowMs }: Acceptance,
): Promise<NewReceipt | null> {
  const { award } = job
  if (award === null) throw new Error('a job that was never awarded has a delivery')
  const receipt = jobReceipt(job, award, { key, siteUrl, by: by.role, nowMs })
  const now = isoTime(nowMs)
  const actor = by.role === 'clock' ? null : by.actor
  const move = {
    event: 'accept',
    role: by.role,
    actor,
    statusAfter: 'accepted',
    note: null,
    createdAt: now,
  } as const
  // Inserts the receipt before the transition, since the job refers to it.
  await insertReceipt(tx, receipt)
  if (!(await transitionJob(tx, job, move, { receiptId: receipt.id }))) return null
  await grantReceipt(tx, {
    wallet: receipt.to,
    receiptId: receipt.id,
    payer: job.poster,
    amountMicroUsdc: receipt.amountMicroUsdc,
    tenths: evidenceTenths.exchange,
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
