import { bodySha256, messages } from '../auth/messages.ts'
import { ApiError } from '../contract/errors.ts'
import type { DeliverBody, JobAccepted, JobDelivery } from '../contract/schemas/job.ts'
import type { JsonObject } from '../core/canonical-json.ts'
import { noPaymentReason } from '../core/job.ts'
import { newId } from '../core/new-id.ts'
import { scoreAt } from '../core/reputation/standing.ts'
import { isoTime } from '../core/time.ts'
import { writeAcceptance } from '../db/jobs/deadlines.ts'
import { findJob } from '../db/jobs/jobs.ts'
import { jobView } from '../db/jobs/view.ts'
import { receiptUrl } from '../db/receipts/view.ts'
import { insertRecord } from '../db/records.ts'
import { earnedBy, standingOf } from '../db/reputation.ts'
import type { RecordOf } from '../db/rows.ts'
import type { DbTransaction } from '../db/schema.ts'
import type { WalletAdmission } from '../limits/admission.ts'
import type { ActionDeps } from './deps.ts'
import type { OutcomeOf } from './idempotency.ts'
import { applyTransition, requireTransition, loadJobContext } from './job-write.ts'
import type { JobWrite } from './job-write.ts'
import { commitPartnerWrite } from './partner-write.ts'
import { verifySignedBody } from './signed-body.ts'

/** One wallet must sign the credentials and the body. The URL is not fetched. */
export async function deliverJob(
  deps: ActionDeps,
  jobId: string,
  write: JobWrite<DeliverBody> & {
    readonly json: JsonObject
    readonly admission: WalletAdmission
  },
): Promise<OutcomeOf<'deliverJob'>> {
  const { body, json, proof, request } = write
  const signed = await verifySignedBody(deps, write, {
    json,
    ...body,
    message: (service, from) => messages.deliver(service, { ...from, jobId }),
  })
  const statement = { proof: signed, bodySha256: bodySha256(json) }
  const id = newId(deps.random, 'dlv')
  return await commitPartnerWrite(
    deps,
    { ...write, action: 'deliverJob', statement },
    async (tx) => {
      if (signed.wallet.id !== proof.wallet.id) {
        throw new ApiError('forbidden', 'Delivery and request are signed by different wallets')
      }
      const standing = await loadJobContext(tx, jobId, proof.wallet.id)
      const { nowMs } = request
      await applyTransition(tx, standing, { event: 'deliver', actor: proof.wallet.id, nowMs })
      const delivery = {
        id,
        jobId,
        deliverer: proof.wallet.id,
        uri: body.uri,
        contentSha256: body.content_sha256,
        note: body.note ?? null,
        statement: json,
        createdAt: isoTime(nowMs),
      }
      await insertRecord(tx, 'job_deliveries', delivery)
      return { status: 201, body: deliveryView(delivery, body, proof.wallet.display) }
    },
  )
}

export function deliveryView(
  record: Omit<RecordOf<'job_deliveries'>, 'seq'>,
  signed: Pick<DeliverBody, 'wallet' | 'timestamp' | 'signature'>,
  deliverer: string,
): JobDelivery {
  return {
    id: record.id,
    job_id: record.jobId,
    deliverer,
    uri: record.uri,
    content_sha256: record.contentSha256,
    ...(record.note === null ? {} : { note: record.note }),
    wallet: signed.wallet,
    timestamp: signed.timestamp,
    signature: signed.signature,
    created_at: record.createdAt,
  }
}

/** Writes the job, the exchange's receipt and the reputation entry in one transaction. */
export async function acceptJob(
  deps: ActionDeps,
  jobId: string,
  write: JobWrite<unknown>,
): Promise<OutcomeOf<'acceptJob'>> {
  const { nowMs } = write.request
  return await commitPartnerWrite(deps, { ...write, action: 'acceptJob' }, async (tx) => ({
    status: 200,
    body: await accepted(deps, tx, { jobId, actor: write.proof.wallet.id, nowMs }),
  }))
}

async function accepted(
  deps: Pick<ActionDeps, 'keys' | 'site'>,
  tx: DbTransaction,
  acceptance: { readonly jobId: string; readonly actor: string; readonly nowMs: number },
): Promise<JobAccepted> {
  const siteUrl = deps.site.url
  const { jobId, actor, nowMs } = acceptance
  const standing = await loadJobContext(tx, jobId, actor)
  requireTransition(standing, 'accept', nowMs)
  const { active: key } = deps.keys.exchange()
  const by = { role: 'poster', actor } as const
  const receipt = await writeAcceptance(tx, standing.job, { by, key, siteUrl, nowMs })
  const job = await findJob(tx, jobId)
  if (receipt === null || job === null) throw new ApiError('conflict', 'The job has changed')
  return {
    job: jobView(job, { siteUrl, nowMs }),
    receipt_id: receipt.id,
    receipt_url: receiptUrl(siteUrl, receipt.id),
    rep_delta: await earnedBy(tx, receipt.id),
    rep_reason: noPaymentReason,
    new_rep_score: scoreAt(await standingOf(tx, receipt.toWallet), nowMs),
  }
}
