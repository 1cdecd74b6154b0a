/** One write, once: replay guard, idempotency key and effect in one transaction. */
import type { Kysely, Transaction } from 'kysely'

import { SIGNED_WINDOW_MS } from '../auth/timestamps.ts'
import { ApiError } from '../contract/errors.ts'
import type { AnswerOf } from '../contract/route-types.ts'
import type { RouteId } from '../contract/routes.ts'
import { dayMs, isoTime, secondMs } from '../core/time.ts'
import type { Wallet } from '../core/wallet.ts'
import {
  findIdempotencyKey,
  findUsedMessage,
  insertIdempotencyKey,
  insertUsedMessage,
} from '../db/guard.ts'
import type { FirstAnswer, NewAnswer } from '../db/guard.ts'
import { restoredAtMs } from '../db/restored.ts'
import type { Database } from '../db/schema.ts'
import type { ActionDeps } from './deps.ts'

/** What is the same in every sending of one request, and when this one came. */
export interface WriteRequest {
  /** SHA-256 over method, path and raw body; headers do not count. */
  readonly requestSha256: string
  /** The clock, read once. */
  readonly nowMs: number
  readonly idempotencyKey: string | null
  /** Who calls, asked where no wallet has signed: a keyed hash of the address. */
  readonly remoteKey: () => string
}

/** A signature that was checked. A message is good for one write. */
export interface SignedProof {
  readonly wallet: Wallet
  readonly messageSha256: string
  readonly signatureSha256: string
  /** The time that was signed. */
  readonly timestampMs: number
  /** The guard's row is kept until then: longer than the message would be taken. */
  readonly expiresAtMs: number
  /** False: the time signed is outside the window. Only the first answer under an idempotency key may follow. */
  readonly timely: boolean
}

/** What a write answers. The body is JSON and has no undefined members. */
export interface Outcome<Body extends object = object> {
  readonly status: 200 | 201 | 202
  readonly body: Body
}

/** The outcome of a write of the registry. */
export type OutcomeOf<Id extends RouteId> = Outcome<AnswerOf<Id> & object>

/**
 * A refusal that leaves rows behind, such as a counted try: what `decide` wrote is committed, then the
 * error is thrown. The message and the key stay unused.
 */
export interface CommittedRefusal {
  readonly refused: ApiError
}

export type Decide<Body extends object = object> = (
  tx: Transaction<Database>,
) => Promise<Outcome<Body> | CommittedRefusal>

const keyLifeMs = dayMs

/**
 * Runs `decide` in a transaction unless the same was done before:
 * a message that was used for this very request answers with the first result and 200, for another
 * request 409; an idempotency key answers with the first result, for another request 422.
 * Where `decide` throws nothing is kept. `proofs` are all signatures of the request, the caller's first.
 * `decide` has no effects but its rows; whatever is slow belongs before it.
 * @throws ApiError, and DatabaseUnavailableError where nothing may be acknowledged.
 */
export async function commitOnce<Body extends object>(
  deps: Pick<ActionDeps, 'database' | 'requestBuild'>,
  request: WriteRequest,
  proofs: readonly SignedProof[],
  decide: Decide<Body>,
): Promise<Outcome<Body>> {
  const caller = callerOf(request, proofs)
  const done = await deps.database.write(async (tx) => {
    const first = await firstAnswer<Body>(tx, request, proofs, caller)
    if (first !== null) return { outcome: first, isNew: false }
    await requireFresh(deps, request, proofs)
    const outcome = await decide(tx)
    if ('refused' in outcome) return { outcome, isNew: false }
    await keepAnswer(tx, { request, proofs, outcome })
    return { outcome, isNew: true }
  })
  const { outcome, isNew } = done
  if ('refused' in outcome) throw outcome.refused
  if (isNew) deps.requestBuild()
  return outcome
}

/**
 * The first answer of a request that was made before, or null. For writes with something slow to do ahead
 * of their transaction; `commitOnce` looks again inside of it.
 * @throws ApiError as `commitOnce`.
 */
export async function priorAnswer<Body extends object>(
  deps: Pick<ActionDeps, 'database'>,
  request: WriteRequest,
  proofs: readonly SignedProof[],
): Promise<Outcome<Body> | null> {
  const caller = callerOf(request, proofs)
  return await firstAnswer<Body>(deps.database.reader, request, proofs, caller)
}

/** Says what time it is here: a client's clock may be wrong. */
export function expired(timestampMs: number, nowMs: number): ApiError {
  const [signed, now] = [timestampMs, nowMs].map(isoTime)
  return new ApiError('signature_expired', `It was signed at ${signed}, and here it is ${now}`)
}

/**
 * Every signature lies in the window, and none can have been used before the file was put back from a backup.
 * @throws ApiError `signature_expired`, with the times
 */
export async function requireFresh(
  deps: Pick<ActionDeps, 'database'>,
  request: WriteRequest,
  proofs: readonly SignedProof[],
): Promise<void> {
  const late = proofs.find((proof) => !proof.timely)
  if (late !== undefined) throw expired(late.timestampMs, request.nowMs)
  const untilMs = await lostUntilMs(deps, request, proofs)
  if (untilMs !== null) throw restored(untilMs, request.nowMs)
}

/** False where a signature is of a time whose writes the file may have lost when it was put back. */
export async function isAfterRestore(
  deps: Pick<ActionDeps, 'database'>,
  request: WriteRequest,
  proofs: readonly SignedProof[],
): Promise<boolean> {
  return (await lostUntilMs(deps, request, proofs)) === null
}

/**
 * Null where no signature can have been used before the file was put back. Else the latest time that such a one can bear:
 * what was taken then may have been signed ahead, as far as the window lets.
 */
async function lostUntilMs(
  { database }: Pick<ActionDeps, 'database'>,
  { nowMs }: WriteRequest,
  proofs: readonly SignedProof[],
): Promise<number | null> {
  const restoredMs = await restoredAtMs(database)
  if (restoredMs === null) return null
  const untilMs = restoredMs + SIGNED_WINDOW_MS
  // By now nothing of that time is timely any more.
  if (nowMs > untilMs + SIGNED_WINDOW_MS) return null
  return proofs.some(({ timestampMs }) => timestampMs <= untilMs) ? untilMs : null
}

/** Says from when on signatures are taken: whoever signs with the present time waits for it. */
function restored(untilMs: number, nowMs: number): ApiError {
  const details = `The ledger was restored from a backup, and nothing dated ${isoTime(untilMs)} or earlier is taken: sign anew with a later time`
  const waitSeconds = Math.min(Math.floor((untilMs - nowMs) / secondMs) + 1, dayMs / secondMs)
  const headers: Record<string, string> =
    waitSeconds < 1 ? {} : { 'Retry-After': String(waitSeconds) }
  return new ApiError('signature_expired', details, { headers })
}

async function firstAnswer<Body extends object>(
  tx: Kysely<Database>,
  request: WriteRequest,
  proofs: readonly SignedProof[],
  caller: string,
): Promise<Outcome<Body> | null> {
  for (const { wallet, messageSha256 } of proofs) {
    const used = await findUsedMessage(tx, wallet.id, messageSha256)
    if (used === null) continue
    if (used.requestSha256 !== request.requestSha256) throw new ApiError('signature_reused')
    return repeatOf<Body>(200, used)
  }
  if (request.idempotencyKey === null) return null
  const now = isoTime(request.nowMs)
  const kept = await findIdempotencyKey(tx, caller, request.idempotencyKey, now)
  if (kept === null) return null
  if (kept.requestSha256 !== request.requestSha256) throw new ApiError('idempotency_key_reused')
  const { status } = kept
  return repeatOf<Body>(status === 201 || status === 202 ? status : 200, kept)
}

function repeatOf<Body extends object>(
  status: Outcome['status'],
  { body }: FirstAnswer,
): Outcome<Body> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- stored by the same handler, for the same request
  return { status, body: body as object as Body }
}

async function keepAnswer(tx: Transaction<Database>, written: Written): Promise<void> {
  const { messages, keys } = answersToKeep(written)
  for (const message of messages) await insertUsedMessage(tx, message, message.answer)
  for (const key of keys) await insertIdempotencyKey(tx, key, key.answer)
}

interface Written {
  readonly request: WriteRequest
  readonly proofs: readonly SignedProof[]
  readonly outcome: Outcome
}

/** The rows by which a later sending of the same request finds its answer. */
export function answersToKeep({ request, proofs, outcome }: Written) {
  const { requestSha256, nowMs, idempotencyKey } = request
  const caller = callerOf(request, proofs)
  const answerUntil = (timeMs: number): NewAnswer => ({
    requestSha256,
    status: outcome.status,
    body: outcome.body,
    expiresAt: isoTime(timeMs),
  })
  const messages = proofs.map(({ wallet, messageSha256, expiresAtMs }) => ({
    wallet: wallet.id,
    messageSha256,
    answer: answerUntil(expiresAtMs),
  }))
  const keys =
    idempotencyKey === null
      ? []
      : [{ caller, key: idempotencyKey, answer: answerUntil(nowMs + keyLifeMs) }]
  return { messages, keys }
}

/** Whose idempotency keys these are: the wallet that signed, or where no wallet did, the address. */
function callerOf({ remoteKey }: WriteRequest, proofs: readonly SignedProof[]): string {
  return proofs[0]?.wallet.id ?? remoteKey()
}
