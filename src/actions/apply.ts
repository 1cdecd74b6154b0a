/** Records each attempt before sending, so a repeat never sends again: it gets 409 meanwhile, or `unknown` after a crash. */

import { sha256Hex, signingText } from '../auth/messages.ts'
import { ApiError } from '../contract/errors.ts'
import type { AnswerOf } from '../contract/route-types.ts'
import type { Application, ApplyBlock, ApplyBody } from '../contract/schemas/application.ts'
import { present } from '../core/entries.ts'
import { keptRows, writeQuotas } from '../core/limits.ts'
import { newId } from '../core/new-id.ts'
import { withSiteUrl } from '../core/site-url.ts'
import { dayMs, isoTime, minuteMs } from '../core/time.ts'
import { findApplication } from '../db/feedback.ts'
import type { ApplicationRecord } from '../db/feedback.ts'
import { insertRecord, selectRecords, updateRecord } from '../db/records.ts'
import type { Db } from '../db/schema.ts'
import { fieldProblem, forwardApplication } from '../outbound/application.ts'
import { outboundUserAgent } from '../outbound/user-agent.ts'
import type { ActionDeps } from './deps.ts'
import { firstAnswer, requireFresh } from './idempotency.ts'
import type { OutcomeOf } from './idempotency.ts'
import { requirePartner } from './partner-access.ts'
import { commitPartnerWrite } from './partner-write.ts'
import type { PartnerWrite } from './partner-write.ts'
import { requireRail } from './reference.ts'
import type { ReferenceRail } from './reference.ts'
import { requireWallet } from './signed-body.ts'
import { enforcePartnerWriteQuota, enforceRowQuota } from './write-quotas.ts'

/** Attempts without a result after this time were interrupted by the end of the process. */
const abandonedMs = minuteMs

/** @throws ApiError 409 while the same request is running, 422, 429 */
export async function apply(
  deps: ActionDeps,
  write: PartnerWrite & { readonly body: ApplyBody },
): Promise<OutcomeOf<'applyToRail'>> {
  const { body } = write
  const rail = requireRail(deps.reference(), body.rail)
  const worker = requireWallet(body.worker_wallet, 'worker_wallet')
  const fields = body.fields ?? {}
  const problem = rail.apply === undefined ? null : fieldProblem(rail.apply, fields)
  if (problem !== null) throw new ApiError('refused', problem)
  const applyUrl = rail.sample_apply_url ?? withSiteUrl(rail.reference_url, deps.site.url)
  const { apply: block } = rail
  if (block === undefined) {
    return await commitPartnerWrite(deps, write, async (tx) => {
      const attempt = await record(tx, deps, write, { worker: worker.display, mode: 'manual' })
      return await finish(tx, deps, attempt, { end: manual, applyUrl, reason: manualReason(rail) })
    })
  }
  // Repeats need no outbound slot, so they are answered even when all slots are taken.
  const prior = await firstAnswer<AnswerOf<'applyToRail'>>(deps.database.reader, write.request, [
    write.proof,
  ])
  if (prior !== null) return prior
  const earlier = await findAttempt(deps, deps.database.reader, write)
  const { attempt, end } =
    earlier === null
      ? await attemptOnce(deps, write, { block, worker: worker.display })
      : { attempt: earlier, end: interrupted }
  return await commitPartnerWrite(deps, write, (tx) => finish(tx, deps, attempt, { end, applyUrl }))
}

interface AttemptResult {
  readonly attempt: RecordedAttempt
  readonly end: End
}

/** If no slot is free, an earlier copy of the request may have recorded its attempt by now. */
async function attemptOnce(
  deps: ActionDeps,
  write: PartnerWrite & { readonly body: ApplyBody },
  { block, worker }: { readonly block: ApplyBlock; readonly worker: string },
): Promise<AttemptResult> {
  const work = async (): Promise<AttemptResult> => {
    write.request.chargeOutbound()
    const attempt = await begin(deps, write, worker)
    if (!attempt.isNew) return { attempt, end: interrupted }
    const { message, fields = {} } = write.body
    const values = { applicationId: attempt.id, workerWallet: worker, message, fields }
    const userAgent = outboundUserAgent(deps.site.url)
    const end = await forwardApplication(deps.outbound.send, block, values, userAgent)
    return { attempt, end }
  }
  return await deps.outboundLimits.rail
    .run(work)
    .catch(async (error: unknown): Promise<AttemptResult> => {
      if (!(error instanceof ApiError) || error.code !== 'unavailable') throw error
      // Reads in the write queue, after any earlier copy of the request has recorded its attempt.
      const attempt = await deps.database.write((tx) => findAttempt(deps, tx, write))
      if (attempt === null) throw error
      return { attempt, end: interrupted }
    })
}

interface End extends Pick<ApplicationRecord, 'fault'> {
  readonly outcome: Exclude<ApplicationRecord['outcome'], 'running'>
  readonly status: number | null
}

function manualReason(rail: ReferenceRail): string {
  const { apply_manual_reason: reason = noAddress, entry_requirements: required } = rail
  return `${reason}${required ? ` To join: ${required.join('; ')}.` : ''}`
}

const noAddress =
  'We know no address at which this rail takes applications without an account of its own.'

const manual: End = { outcome: 'manual', status: null, fault: null }
const interrupted: End = { outcome: 'unknown', status: null, fault: null }

async function finish(
  tx: Db,
  deps: ActionDeps,
  attempt: Omit<RecordedAttempt, 'isNew'>,
  ended: { readonly end: End; readonly applyUrl: string; readonly reason?: string },
): Promise<OutcomeOf<'applyToRail'>> {
  const { end, applyUrl, reason } = ended
  const outcome = { outcome: end.outcome, upstreamStatus: end.status, fault: end.fault }
  const finishedAt = isoTime(deps.clock.now())
  const running = { id: attempt.id, outcome: 'running' } as const
  await updateRecord(tx, 'applications', running, { ...outcome, finishedAt })
  const view = viewOf({ ...attempt, ...outcome }, applyUrl)
  return { status: 201, body: { ...view, ...present({ manual_reason: reason }) } }
}

interface RecordedAttempt extends Pick<ApplicationRecord, 'id' | 'rail' | 'mode' | 'submittedAt'> {
  /** False if an earlier copy of the request is unfinished. */
  readonly isNew: boolean
}

/** Returns an earlier copy's attempt or null. @throws ApiError 409 for a running or reused request, 422 for the key */
async function findAttempt(
  { clock }: Pick<ActionDeps, 'clock'>,
  db: Db,
  write: PartnerWrite,
): Promise<RecordedAttempt | null> {
  const { proof, request } = write
  const { nowMs, idempotencyKey } = request
  const earlier = await findApplication(db, {
    partner: proof.wallet.id,
    messageSha256: proof.messageSha256,
    key: idempotencyKey,
    after: isoTime(nowMs - dayMs),
  })
  if (earlier === null) return null
  requireSameRequest(earlier, write)
  const ageMs = clock.now() - Date.parse(earlier.submittedAt)
  if (earlier.outcome === 'running' && ageMs < abandonedMs) {
    throw new ApiError('request_in_progress')
  }
  return { ...earlier, isNew: false }
}

async function begin(
  deps: ActionDeps,
  write: PartnerWrite & { readonly body: ApplyBody },
  worker: string,
): Promise<RecordedAttempt> {
  const { proof, request } = write
  const { nowMs } = request
  return await deps.database.write(async (tx): Promise<RecordedAttempt> => {
    const earlier = await findAttempt(deps, tx, write)
    if (earlier !== null) return earlier
    // Runs the checks of the final write before anything is sent.
    await requireFresh(deps, request, [proof])
    const partner = await requirePartner(tx, proof, { use: 'write', nowMs })
    await enforcePartnerWriteQuota(tx, deps, partner, nowMs)
    request.chargeStorage(0, keptRows.partnerWrite)
    return { ...(await record(tx, deps, write, { worker, mode: 'forwarded' })), isNew: true }
  })
}

async function record(
  tx: Db,
  deps: ActionDeps,
  { body, proof, request }: PartnerWrite & { readonly body: ApplyBody },
  { worker, mode }: { readonly worker: string; readonly mode: 'forwarded' | 'manual' },
): Promise<Omit<RecordedAttempt, 'isNew'>> {
  const { nowMs, requestSha256, idempotencyKey } = request
  const partner = proof.wallet.id
  const earlier = selectRecords(tx, 'applications', { partner })
  await enforceRowQuota(writeQuotas.applications, nowMs, earlier, 'submitted_at')
  const attempt = {
    id: newId(deps.random, 'app'),
    rail: body.rail,
    mode,
    submittedAt: isoTime(nowMs),
  }
  await insertRecord(tx, 'applications', {
    ...attempt,
    outcome: 'running',
    partner,
    workerWallet: worker,
    contentSha256: sha256Hex(signingText({ message: body.message, fields: body.fields ?? {} })),
    requestSha256,
    messageSha256: proof.messageSha256,
    idempotencyKey,
  })
  return attempt
}

function requireSameRequest(earlier: ApplicationRecord, { proof, request }: PartnerWrite): void {
  if (earlier.requestSha256 === request.requestSha256) return
  const isSameMessage = earlier.messageSha256 === proof.messageSha256
  throw new ApiError(isSameMessage ? 'signature_reused' : 'idempotency_key_reused')
}

function viewOf(
  record: Omit<RecordedAttempt, 'isNew'> &
    Pick<End, 'outcome' | 'fault'> &
    Pick<ApplicationRecord, 'upstreamStatus'>,
  applyUrl: string,
): Application {
  return {
    application_id: record.id,
    rail: record.rail,
    mode: record.mode,
    outcome: record.outcome,
    ...present({ upstream_status: record.upstreamStatus, upstream_error: record.fault }),
    ...(record.outcome === 'accepted' ? {} : { sample_apply_url: applyUrl }),
    submitted_at: record.submittedAt,
  }
}
