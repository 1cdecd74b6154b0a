/** Runs a write once: replay guard, idempotency key and effect share one transaction. */

import { sha256Hex } from '../auth/messages.ts'
import { SIGNED_WINDOW_MS } from '../auth/timestamps.ts'
import { ApiError } from '../contract/errors.ts'
import type { AnswerOf } from '../contract/route-types.ts'
import type { RouteId } from '../contract/routes.ts'
import { dayMs, isoTime, secondMs } from '../core/time.ts'
import type { Wallet } from '../core/wallet.ts'
import { findIdempotencyKey, findUsedMessage, insertAnswers } from '../db/guard.ts'
import type { AnswerRows, FirstAnswer } from '../db/guard.ts'
import { toJsonText } from '../db/json.ts'
import { restoredAtMs } from '../db/meta.ts'
import type { Db, DbTransaction } from '../db/schema.ts'
import type { CostAdmission } from '../limits/admission.ts'
import type { ActionDeps } from './deps.ts'

export interface WriteRequest extends Omit<CostAdmission, 'chargeStorage'> {
  /** SHA-256 over method, path and raw body, without headers. */
  readonly requestSha256: string
  readonly nowMs: number
  readonly idempotencyKey: string | null
  /** Keyed hash of the address; identifies callers that did not sign. */
  readonly remoteKey: () => string
  /** Counts the request with its answer once, before they are stored; `rows` are `keptRows`. @throws ApiError `rate_limited` */
  readonly chargeStorage: (answerBytes: number, rows: number) => void
}

/** A verified signature. Each message is accepted for one write. */
export interface SignedProof {
  readonly wallet: Wallet
  readonly messageSha256: string
  readonly signatureSha256: string
  readonly timestampMs: number
  /** Expiry of the guard row. The message is never accepted after it. */
  readonly expiresAtMs: number
  /** False for a signed time outside the window. The request then only returns the stored answer of an idempotency key. */
  readonly timely: boolean
}

/** The body is JSON without undefined members. */
export interface Outcome<Body extends object = object> {
  readonly status: 200 | 201 | 202
  readonly body: Body
}

export type OutcomeOf<Id extends RouteId> = Outcome<AnswerOf<Id> & object>

export type Decide<Body extends object = object> = (tx: DbTransaction) => Promise<Outcome<Body>>

export interface WriteTerms {
  /** From `keptRows`. */
  readonly rows: number
  /** Set if `decide` depends only on rows of the caller, the signers and these locks. */
  readonly locks?: readonly string[] | undefined
}

export const keyLifeMs = dayMs

/**
 * Runs `decide` in a transaction unless its result is stored. A message repeated for the same request, or a known
 * idempotency key, returns the first result; another request gets 409 or 422. Nothing is stored if `decide` throws.
 * `decide` may only write rows; slow work belongs before it. `proofs`: all signatures, the caller's first.
 * @throws ApiError, and DatabaseUnavailableError if nothing may be acknowledged
 */
export async function commitOnce<Body extends object>(
  deps: Pick<ActionDeps, 'database' | 'requestBuild'>,
  request: WriteRequest & WriteTerms,
  proofs: readonly SignedProof[],
  decide: Decide<Body>,
): Promise<Outcome<Body>> {
  const caller = callerOf(request, proofs)
  const { locks, rows: kept } = request
  const work = async (tx: DbTransaction) => {
    const first = await firstAnswer<Body>(tx, request, proofs)
    if (first !== null) return { outcome: first, isNew: false }
    await requireFresh(deps, request, proofs)
    const outcome = await decide(tx)
    const rows = answerRows({ request, proofs, outcome })
    const [stored] = rows.answers
    request.chargeStorage(Buffer.byteLength(stored?.answer ?? ''), kept)
    await insertAnswers(tx, rows)
    return { outcome, isNew: true }
  }
  const all = locks && [caller, ...proofs.map(({ wallet }) => wallet.id), ...locks]
  const { outcome, isNew } = await deps.database.write(work, all)
  if (isNew) deps.requestBuild()
  return outcome
}

/** Includes the server time: the client's clock may be wrong. */
export function expired(timestampMs: number, nowMs: number): ApiError {
  const [signed, now] = [timestampMs, nowMs].map(isoTime)
  return new ApiError('signature_expired', `Signed at ${signed}; the server time is ${now}`)
}

/** @throws ApiError `signature_expired` outside the window, or if a restore may have lost an earlier use */
export async function requireFresh(
  deps: Pick<ActionDeps, 'database'>,
  request: WriteRequest,
  proofs: readonly SignedProof[],
): Promise<void> {
  const untimely = proofs.find((proof) => !proof.timely)
  if (untimely !== undefined) throw expired(untimely.timestampMs, request.nowMs)
  const untilMs = await lostUntilMs(deps, request, proofs)
  if (untilMs !== null) throw restored(untilMs, request.nowMs)
}

/** The latest signed time whose use may be lost by a restore, including future times; null without a restore. */
export async function lostUntilMs(
  { database }: Pick<ActionDeps, 'database'>,
  { nowMs }: WriteRequest,
  proofs: readonly SignedProof[],
): Promise<number | null> {
  const restoredMs = await restoredAtMs(database)
  if (restoredMs === null) return null
  const untilMs = restoredMs + SIGNED_WINDOW_MS
  // The window has passed, so these signatures are no longer valid.
  if (nowMs > untilMs + SIGNED_WINDOW_MS) return null
  return proofs.some(({ timestampMs }) => timestampMs <= untilMs) ? untilMs : null
}

/** Names the time after which signatures are accepted again. */
function restored(untilMs: number, nowMs: number): ApiError {
  const details = `The ledger was restored from a backup and rejects signatures dated ${isoTime(untilMs)} or earlier; sign again with a later time`
  const waitSeconds = Math.min(Math.floor((untilMs - nowMs) / secondMs) + 1, dayMs / secondMs)
  const headers: Record<string, string> =
    waitSeconds < 1 ? {} : { 'Retry-After': String(waitSeconds) }
  return new ApiError('signature_expired', details, { headers })
}

/** Returns the stored answer or null: writes can skip slow steps before `commitOnce`. @throws ApiError as `commitOnce` */
export async function firstAnswer<Body extends object>(
  db: Db,
  request: WriteRequest,
  proofs: readonly SignedProof[],
): Promise<Outcome<Body> | null> {
  for (const proof of proofs) {
    const used = await findUsedMessage(db, messageOf(proof))
    if (used === null) continue
    if (used.requestSha256 !== request.requestSha256) throw new ApiError('signature_reused')
    return repeatOf<Body>(200, used)
  }
  if (request.idempotencyKey === null) return null
  const now = isoTime(request.nowMs)
  const caller = callerOf(request, proofs)
  const stored = await findIdempotencyKey(db, caller, request.idempotencyKey, now)
  if (stored === null) return null
  if (stored.requestSha256 !== request.requestSha256) throw new ApiError('idempotency_key_reused')
  const { status } = stored
  return repeatOf<Body>(status === 201 || status === 202 ? status : 200, stored)
}

function repeatOf<Body extends object>(
  status: Outcome['status'],
  { body }: FirstAnswer,
): Outcome<Body> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- stored by the same handler, for the same request
  return { status, body: body as object as Body }
}

interface Written {
  readonly request: WriteRequest
  readonly proofs: readonly SignedProof[]
  readonly outcome: Outcome
}

export function answerRows({ request, proofs, outcome }: Written): AnswerRows {
  const { requestSha256, nowMs, idempotencyKey: key } = request
  const caller = callerOf(request, proofs)
  // A message is accepted once. A key is accepted again once it has expired, even if its row still exists.
  const answerId = sha256Hex(`${caller}\n${proofs[0]?.messageSha256 ?? `${key}\n${nowMs}`}`)
  const messages = proofs.map((proof) => ({ ...messageOf(proof), answerId }))
  const keys =
    key === null ? [] : [{ caller, key, answerId, expiresAt: isoTime(nowMs + keyLifeMs) }]
  const [expiresAt] = [...messages, ...keys]
    .map((row) => row.expiresAt)
    .toSorted()
    .toReversed()
  const { status, body } = outcome
  const answer = { id: answerId, requestSha256, status, answer: toJsonText(body) }
  return { answers: expiresAt === undefined ? [] : [{ ...answer, expiresAt }], messages, keys }
}

/** `expiresAt` follows from the signed time, which is in the message. */
function messageOf({ wallet, messageSha256, expiresAtMs }: SignedProof) {
  return { wallet: wallet.id, messageSha256, expiresAt: isoTime(expiresAtMs) }
}

/** Returns the owner of idempotency keys: the signing wallet, or else the client address. */
function callerOf({ remoteKey }: WriteRequest, proofs: readonly SignedProof[]): string {
  return proofs[0]?.wallet.id ?? remoteKey()
}
