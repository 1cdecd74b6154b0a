/**
 * `POST /opportunities/apply`: forwards an application where the rail's file declares how, else says where to apply.
 * The try is recorded before anything is sent and its end afterwards, so that no repeat of a request can be sent
 * twice: one that comes meanwhile is 409, one that comes after a break-off in between is told that nobody knows.
 */
import type { Kysely } from 'kysely'

import { sha256Hex, signingText } from '../auth/messages.ts'
import { ApiError } from '../contract/errors.ts'
import type { AnswerOf } from '../contract/route-types.ts'
import type { Application, ApplyBlock, ApplyBody } from '../contract/schemas/application.ts'
import { withSiteUrl } from '../core/site-url.ts'
import { dayMs, hourMs, isoTime, minuteMs } from '../core/time.ts'
import {
  applicationTimes,
  findApplicationByKey,
  findApplicationByMessage,
  finishApplication,
  insertApplication,
} from '../db/applications.ts'
import type { ApplicationEnd, ApplicationRecord } from '../db/applications.ts'
import type { Database } from '../db/schema.ts'
import { fieldProblem, forwardApplication } from '../outbound/application.ts'
import type { ForwardResult } from '../outbound/application.ts'
import { outboundUserAgent } from '../outbound/user-agent.ts'
import type { ActionDeps } from './deps.ts'
import { priorAnswer, requireFresh } from './idempotency.ts'
import type { OutcomeOf } from './idempotency.ts'
import { newId } from './new-id.ts'
import { requirePartner, tierOf } from './partner-access.ts'
import { commitPartnerWrite } from './partner-write.ts'
import type { PartnerWrite } from './partner-write.ts'
import { enforceQuotaOfTimes, windowStart } from './quota.ts'
import type { Quota } from './quota.ts'
import { requireWallet } from './signed-body.ts'
import { enforcePartnerWriteQuota } from './write-quotas.ts'

const perPartner: Quota = {
  name: 'applications',
  quota: 20,
  windowMs: hourMs,
  details: 'Over 20 applications an hour',
}
/** A try without an end after this was broken off by the end of the process. */
const abandonedMs = minuteMs

/** 201 with what came of it. @throws ApiError 409 while the same request is under way, 422, 429. */
export async function apply(
  deps: ActionDeps,
  write: PartnerWrite & { readonly body: ApplyBody },
): Promise<OutcomeOf<'applyToRail'>> {
  const { body } = write
  const rail = deps.reference().rails.get(body.rail)
  if (rail === undefined) throw new ApiError('refused', `No rail of the ledger: ${body.rail}`)
  const worker = requireWallet(body.worker_wallet, 'worker_wallet')
  const fields = body.fields ?? {}
  const problem = rail.apply === undefined ? null : fieldProblem(rail.apply, fields)
  if (problem !== null) throw new ApiError('refused', problem)
  const applyUrl = rail.sample_apply_url ?? withSiteUrl(rail.reference_url, deps.siteUrl)
  const { apply: block } = rail
  const action = { ...write, action: 'applyToRail' }
  if (block === undefined) {
    return await commitPartnerWrite(deps, action, async (tx) => {
      const begun = await record(tx, deps, write, { worker: worker.display, mode: 'manual' })
      return await finish(tx, deps, begun, { end: manual, applyUrl })
    })
  }
  // A repeat waits for no rail, so it has its answer also while there is no room to wait for one.
  const prior = await priorAnswer<AnswerOf<'applyToRail'>>(deps, write.request, [write.proof])
  if (prior !== null) return prior
  const earlier = await earlierTry(deps, deps.database.reader, write)
  const { begun, end } =
    earlier === null
      ? await tryOnce(deps, write, { block, worker: worker.display })
      : { begun: earlier, end: lost }
  return await commitPartnerWrite(deps, action, (tx) => finish(tx, deps, begun, { end, applyUrl }))
}

interface Tried {
  readonly begun: Begun
  readonly end: End
}

/** Where there is no room, another sending of the request may have taken it up, and be recorded by now. */
async function tryOnce(
  deps: ActionDeps,
  write: PartnerWrite & { readonly body: ApplyBody },
  { block, worker }: { readonly block: ApplyBlock; readonly worker: string },
): Promise<Tried> {
  const work = async (): Promise<Tried> => {
    const begun = await begin(deps, write, worker)
    if (!begun.isNew) return { begun, end: lost }
    return { begun, end: await forward(deps, block, { id: begun.id, body: write.body, worker }) }
  }
  return await deps.outboundLimits.rail(work).catch(async (error: unknown): Promise<Tried> => {
    if (!(error instanceof ApiError) || error.code !== 'unavailable') throw error
    // After all that is queued, so after the record of whoever came in first.
    const begun = await deps.database.write((tx) => earlierTry(deps, tx, write))
    if (begun === null) throw error
    return { begun, end: lost }
  })
}

interface End extends Pick<ApplicationEnd, 'outcome' | 'fault'> {
  readonly status: number | null
}
const manual: End = { outcome: 'manual', status: null, fault: null }
/** The process that began the try died in it. */
const lost: End = { outcome: 'unknown', status: null, fault: null }

async function finish(
  tx: Kysely<Database>,
  deps: ActionDeps,
  begun: Omit<Begun, 'isNew'>,
  { end, applyUrl }: { readonly end: End; readonly applyUrl: string },
): Promise<OutcomeOf<'applyToRail'>> {
  const kept = { outcome: end.outcome, upstreamStatus: end.status, fault: end.fault }
  await finishApplication(tx, begun.id, { ...kept, finishedAt: isoTime(deps.clock.now()) })
  return { status: 201, body: viewOf({ ...begun, ...kept }, applyUrl) }
}

interface Begun extends Pick<ApplicationRecord, 'id' | 'rail' | 'mode' | 'submittedAt'> {
  /** False where an earlier sending of this request began it, and did not come to an end. */
  readonly isNew: boolean
}

/**
 * What an earlier sending of this request recorded, or null. One that has its answer goes on to it; here nothing is
 * decided for it.
 * @throws ApiError 409 where it is under way, or was of another request; 422 where the key was.
 */
async function earlierTry(
  { clock }: Pick<ActionDeps, 'clock'>,
  db: Kysely<Database>,
  write: PartnerWrite,
): Promise<Begun | null> {
  const { proof, request } = write
  const { nowMs, idempotencyKey } = request
  const earlier =
    (await findApplicationByMessage(db, proof.wallet.id, proof.messageSha256)) ??
    (idempotencyKey === null
      ? null
      : await findApplicationByKey(db, proof.wallet.id, idempotencyKey, isoTime(nowMs - dayMs)))
  if (earlier === null) return null
  requireSameRequest(earlier, write)
  const ageMs = clock.now() - Date.parse(earlier.submittedAt)
  if (earlier.outcome === 'running' && ageMs < abandonedMs) {
    throw new ApiError('request_in_progress')
  }
  return { ...earlier, isNew: false }
}

/** Records the try, unless an earlier sending of the request has. */
async function begin(
  deps: ActionDeps,
  write: PartnerWrite & { readonly body: ApplyBody },
  worker: string,
): Promise<Begun> {
  const { proof, request } = write
  const { nowMs } = request
  return await deps.database.write(async (tx): Promise<Begun> => {
    const earlier = await earlierTry(deps, tx, write)
    if (earlier !== null) return earlier
    // Whatever the end of the write would refuse is refused before anything is sent.
    await requireFresh(deps, request, [proof])
    const partner = await requirePartner(tx, proof, { use: 'write', nowMs })
    const { wallet_rate_multiplier: multiplier } = tierOf(deps.reference(), partner)
    await enforcePartnerWriteQuota(tx, { handle: partner.handle, multiplier }, nowMs)
    return { ...(await record(tx, deps, write, { worker, mode: 'forwarded' })), isNew: true }
  })
}

/** @throws ApiError 429 over the partner's quota. */
async function record(
  tx: Kysely<Database>,
  deps: ActionDeps,
  { body, proof, request }: PartnerWrite & { readonly body: ApplyBody },
  { worker, mode }: { readonly worker: string; readonly mode: 'forwarded' | 'manual' },
): Promise<Omit<Begun, 'isNew'>> {
  const { nowMs, requestSha256, idempotencyKey } = request
  const times = await applicationTimes(tx, proof.wallet.id, windowStart(perPartner, nowMs))
  enforceQuotaOfTimes(perPartner, times, nowMs)
  const begun = {
    id: newId(deps.random, 'app'),
    rail: body.rail,
    mode,
    submittedAt: isoTime(nowMs),
  }
  await insertApplication(tx, {
    ...begun,
    partner: proof.wallet.id,
    workerWallet: worker,
    contentSha256: sha256Hex(signingText({ message: body.message, fields: body.fields ?? {} })),
    requestSha256,
    messageSha256: proof.messageSha256,
    idempotencyKey,
  })
  return begun
}

function requireSameRequest(earlier: ApplicationRecord, { proof, request }: PartnerWrite): void {
  if (earlier.requestSha256 === request.requestSha256) return
  const isSameMessage = earlier.messageSha256 === proof.messageSha256
  throw new ApiError(isSameMessage ? 'signature_reused' : 'idempotency_key_reused')
}

async function forward(
  deps: ActionDeps,
  block: ApplyBlock,
  sent: { readonly id: string; readonly body: ApplyBody; readonly worker: string },
): Promise<ForwardResult> {
  const { message, fields = {} } = sent.body
  const values = { applicationId: sent.id, workerWallet: sent.worker, message, fields }
  return await forwardApplication(deps.outbound, block, values, outboundUserAgent(deps.siteUrl))
}

function viewOf(
  record: Omit<Begun, 'isNew'> & Pick<ApplicationEnd, 'outcome' | 'upstreamStatus' | 'fault'>,
  applyUrl: string,
): Application {
  return {
    application_id: record.id,
    rail: record.rail,
    mode: record.mode,
    outcome: record.outcome,
    ...(record.upstreamStatus === null ? {} : { upstream_status: record.upstreamStatus }),
    ...(record.fault === null ? {} : { upstream_error: record.fault }),
    ...(record.outcome === 'accepted' ? {} : { sample_apply_url: applyUrl }),
    submitted_at: record.submittedAt,
  }
}
