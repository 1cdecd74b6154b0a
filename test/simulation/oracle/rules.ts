/** The outcomes that the protocol of writes allows: a first effect, a repeat of the first answer, or a refusal. */
import type { Kind } from '../requests/operations.ts'
import type { SimulatedRequest } from '../requests/request.ts'
import { iso, minuteMs } from './facts.ts'
import type { RowOf, Snapshot } from './snapshot.ts'

export interface Circumstance {
  readonly db: Snapshot
  readonly request: SimulatedRequest
  readonly nowMs: number
}

const windowMs = 5 * minuteMs
export const codeTries = 5
const ofPartner = 'not_a_partner body_signature_required'
const ofJob = `${ofPartner} unknown_job forbidden conflict`

/** Codes of the rules of each operation. The invariants of the database show whether a rule was broken. */
const refusals: Readonly<Record<Kind, string>> = {
  // A key may change five times a day.
  register: 'refused rate_limited',
  receipt: 'forbidden',
  claim: 'spot_claimed',
  ask: 'spot_claimed rate_limited wallet_needs_key',
  code: 'spot_claimed code_invalid wallet_needs_key',
  signup: 'conflict handle_taken',
  attest: 'unknown_partner not_a_partner forbidden conflict',
  profile: ofPartner,
  free: ofPartner,
  leave: ofPartner,
  subscribe: `${ofPartner} refused`,
  unsubscribe: `${ofPartner} unknown_subscription`,
  try: `${ofPartner} unknown_subscription conflict`,
  enable: `${ofPartner} unknown_subscription conflict`,
  apply: ofPartner,
  post: `${ofPartner} invalid_input`,
  bid: ofJob,
  award: `${ofJob} refused`,
  deliver: ofJob,
  accept: ofJob,
  dispute: ofJob,
  cancel: ofJob,
  feedback: 'rate_limited',
  propose: 'rate_limited',
}

export interface Verdict {
  /** The stored first answer, which a repeat must receive. */
  readonly repeat: { readonly status: number; readonly body: unknown } | null
  readonly mayTakeEffect: boolean
  /** Codes with which the request may be refused. */
  readonly codes: readonly string[]
}

/** The allowed outcomes of a request in one state. */
export function verdictOf(at: Circumstance): Verdict {
  const { db, request, nowMs } = at
  const { proofs, key, flaws, requestSha256 } = request
  const isLate = proofs.some(({ timestampMs }) => Math.abs(nowMs - timestampMs) > windowMs)
  const refused = (...codes: string[]): Verdict => ({ repeat: null, mayTakeEffect: false, codes })
  const repeated = (status: number, answer: string): Verdict => ({
    repeat: { status, body: JSON.parse(answer) },
    mayTakeEffect: false,
    codes: [],
  })
  const own = refusals[request.kind].split(' ')
  if (isLate && key === null) return refused(...flaws, 'signature_expired')
  if (flaws.length > 0) return refused(...flaws)
  const used = db.used_messages.find((row) =>
    proofs.some(
      (proof) => row.wallet === proof.wallet && row.message_sha256 === proof.messageSha256,
    ),
  )
  if (used !== undefined) {
    const first = answerTo(db, used)
    const isRepeat = first?.request_sha256 === requestSha256
    return isRepeat ? repeated(200, first.answer) : refused('signature_reused')
  }
  const stored = db.idempotency_keys.find(
    (row) => row.caller === request.caller && row.key === key && row.expires_at > iso(nowMs),
  )
  if (stored !== undefined) {
    const first = answerTo(db, stored)
    const isRepeat = first?.request_sha256 === requestSha256
    return isRepeat ? repeated(first.status, first.answer) : refused('idempotency_key_reused')
  }
  if (isLate) return refused('signature_expired')
  if (isLost(at)) return refused('signature_expired', ...own)
  return { repeat: null, mayTakeEffect: true, codes: own }
}

export function answerTo(
  db: Snapshot,
  row: { readonly answer_id: string } | undefined,
): RowOf<'answers'> | undefined {
  return db.answers.find(({ id }) => id === row?.answer_id)
}

/** True if a restored file may have lost the message that this request repeats. */
function isLost({ db, request, nowMs }: Circumstance): boolean {
  const restoredMs = Date.parse(db.meta.find(({ key }) => key === 'restored_at')?.value ?? '')
  return (
    nowMs <= restoredMs + 2 * windowMs &&
    request.proofs.some(({ timestampMs }) => timestampMs <= restoredMs + windowMs)
  )
}

/** The code for an address, unless it expired or was guessed too often. */
export function codeOf(
  db: Snapshot,
  { derived }: SimulatedRequest,
  nowMs: number,
): RowOf<'email_codes'> | undefined {
  return db.email_codes.find(
    (row) =>
      row.email_hash === derived['email_hash'] &&
      row.expires_at > iso(nowMs) &&
      row.tries < codeTries,
  )
}
