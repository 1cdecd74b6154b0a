/**
 * The rules of the ledger as conditions: an operation is refused with a code if, and only if, a condition of that code
 * holds. A request that took effect must meet none; a refused one must meet one in a state that existed meanwhile.
 */
import type { Kind } from '../requests/operations.ts'
import type { SimulatedRequest } from '../requests/request.ts'
import {
  answerDueMs,
  awardeeOf,
  dayMs,
  hourMs,
  isActive,
  iso,
  jobStatusAt,
  minuteMs,
  partnerOf,
  subscriptionAt,
} from './facts.ts'
import type { RowOf, Snapshot } from './snapshot.ts'

export interface Circumstance {
  readonly db: Snapshot
  readonly request: SimulatedRequest
  readonly nowMs: number
  /** True if the e-mail of this request has been counted. */
  readonly isMailed: boolean
}

type Condition = (at: Circumstance) => boolean
type Refusals = Readonly<Record<string, Condition>>

const windowMs = 5 * minuteMs
export const codeTries = 5
const limits = { agent: 5, address: 30, proposals: 10, mailsToOne: 3, mailsFromOne: 10 } as const
const subscriptionLimit = 10

const ofPartner: Refusals = {
  not_a_partner: ({ db, request }) => partnerOf(db, request.wallet) === undefined,
  body_signature_required: ({ db, request }) =>
    !request.isBound &&
    (partnerOf(db, request.wallet)?.require_body_signature === 1 ||
      request.body['require_body_signature'] !== undefined),
}

const ofActivePartner: Refusals = {
  ...ofPartner,
  not_a_partner: ({ db, request, nowMs }) => !isActive(db, request.wallet, nowMs),
}

const noSuchWebhook: Condition = ({ db, request }) =>
  webhookOf(db, request)?.wallet !== request.wallet

function ofJob(
  party: 'poster' | 'awardee' | 'any party' | 'others',
  statuses: readonly string[],
): Refusals {
  const parties = { poster: ['poster'], awardee: ['awardee'], 'any party': ['poster', 'awardee'] }
  return {
    ...ofActivePartner,
    unknown_job: ({ db, request }) => jobOf(db, request) === undefined,
    forbidden: ({ db, request }) => {
      const role = roleOf(db, request)
      return party === 'others' ? role === 'poster' : !parties[party].includes(role)
    },
    conflict: ({ db, request, nowMs }) => {
      const job = jobOf(db, request)
      return job !== undefined && !statuses.includes(jobStatusAt(job, nowMs))
    },
  }
}

const refusals: Readonly<Record<Kind, Refusals>> = {
  register: {
    refused: ({ db, request, nowMs }) =>
      JSON.stringify(request.body['skills']).includes('my-own-skill') &&
      !isActive(db, request.wallet, nowMs),
  },
  receipt: {
    forbidden: ({ db, request: { derived } }) => {
      const key = db.workers.find((row) => row.wallet === derived['to_wallet'])?.receipt_key ?? null
      return derived['public_key'] !== undefined && key !== null && key !== derived['public_key']
    },
  },
  claim: {
    spot_claimed: ({ db, request }) =>
      db.claims.some((row) => row.wallet === request.wallet && row.email_hash === null),
  },
  ask: {
    spot_claimed: ({ db, request, isMailed }) =>
      !isMailed && isTaken(db, request.derived['wallet'] ?? null),
    rate_limited: ({ db, request, nowMs, isMailed }) =>
      !isMailed && hasTooManyMails(db, request.derived['email_hash'] ?? '', nowMs),
  },
  code: {
    code_invalid: ({ db, request, nowMs }) =>
      codeOf(db, request, nowMs)?.code_hash !== request.derived['code_hash'],
    spot_claimed: ({ db, request, nowMs }) =>
      db.claims.some((row) => row.email_hash === request.derived['email_hash']) ||
      isTaken(db, codeOf(db, request, nowMs)?.wallet ?? null),
  },
  signup: {
    conflict: ({ db, request }) => partnerOf(db, request.wallet) !== undefined,
    handle_taken: ({ db, request }) =>
      db.partners.some((row) => row.handle === request.body['handle']),
  },
  attest: {
    unknown_partner: ({ db, request }) => partnerAt(db, request) === undefined,
    not_a_partner: ({ db, request, nowMs }) => {
      const partner = partnerAt(db, request)
      return partner !== undefined && subscriptionAt(partner, nowMs) === 'cancelled'
    },
    forbidden: ({ db, request }) => partnerAt(db, request)?.wallet !== request.wallet,
    conflict: ({ db, request }) =>
      (partnerAt(db, request)?.attestation_signed_at ?? '') >
      iso(request.proofs[0]?.timestampMs ?? 0),
  },
  profile: ofActivePartner,
  free: ofPartner,
  leave: ofPartner,
  subscribe: {
    ...ofActivePartner,
    refused: ({ db, request }) =>
      db.alert_subscriptions.filter((row) => row.wallet === request.wallet).length >=
      subscriptionLimit,
  },
  unsubscribe: { ...ofActivePartner, unknown_subscription: noSuchWebhook },
  try: {
    ...ofActivePartner,
    unknown_subscription: noSuchWebhook,
    conflict: ({ db, request }) =>
      webhookOf(db, request)?.status === 'disabled' ||
      db.alert_deliveries.some(
        (row) =>
          row.subscription_id === request.params['id'] &&
          row.event_seq === null &&
          row.status === 'pending',
      ),
  },
  apply: ofActivePartner,
  post: {
    ...ofActivePartner,
    invalid_input: ({ request, nowMs }) => Date.parse(String(request.body['deadline'])) <= nowMs,
  },
  bid: ofJob('others', ['open']),
  award: {
    ...ofJob('poster', ['open']),
    refused: ({ db, request }) =>
      !db.job_bids.some(
        ({ id, job_id: job }) => id === request.body['bid_id'] && job === request.params['id'],
      ),
  },
  deliver: ofJob('awardee', ['awarded']),
  accept: ofJob('poster', ['delivered', 'disputed']),
  dispute: {
    ...ofJob('any party', ['delivered']),
    conflict: ({ db, request, nowMs }) => {
      const job = jobOf(db, request)
      const dueMs = job === undefined ? 0 : answerDueMs(db, job)
      return dueMs === null || nowMs >= dueMs
    },
  },
  cancel: ofJob('poster', ['open', 'awarded']),
  feedback: {
    rate_limited: ({ db, request: { address, agent }, nowMs }) => {
      const recent = recentRows(db.feedback, nowMs, hourMs)
      const fromNetwork = recent.filter((row) => row.message.includes(` from ${address} by `))
      const fromAgent = fromNetwork.filter((row) => row.message.endsWith(` by ${agent}`))
      return fromAgent.length >= limits.agent || fromNetwork.length >= limits.address
    },
  },
  propose: {
    rate_limited: ({ db, request: { address }, nowMs }) => {
      const recent = recentRows(db.skill_proposals, nowMs, hourMs)
      return (
        recent.filter((row) => row.description.endsWith(` from ${address}`)).length >=
        limits.proposals
      )
    },
  },
}

export interface Verdict {
  /** The stored first answer, which a repeat must receive. */
  readonly repeat: { readonly status: number; readonly body: unknown } | null
  /** Codes with which the request may be refused; empty if it must succeed. */
  readonly codes: readonly string[]
}

/** The allowed outcomes of a request in one state. */
export function verdictOf(at: Circumstance): Verdict {
  const { db, request, nowMs } = at
  const { proofs, key, flaws, requestSha256 } = request
  const isLate = proofs.some(({ timestampMs }) => Math.abs(nowMs - timestampMs) > windowMs)
  const refused = (...codes: string[]): Verdict => ({ repeat: null, codes })
  const early = [...flaws, ...(isLate && key === null ? ['signature_expired'] : [])]
  if (early.length > 0) return refused(...early)
  const used = db.used_messages.find((row) =>
    proofs.some(
      (proof) => row.wallet === proof.wallet && row.message_sha256 === proof.messageSha256,
    ),
  )
  if (used !== undefined) {
    if (used.request_sha256 !== requestSha256) return refused('signature_reused')
    return { repeat: { status: 200, body: JSON.parse(used.answer) }, codes: [] }
  }
  const stored = db.idempotency_keys.find(
    (row) => row.caller === request.caller && row.key === key && row.expires_at > iso(nowMs),
  )
  if (stored !== undefined) {
    if (stored.request_sha256 !== requestSha256) return refused('idempotency_key_reused')
    return { repeat: { status: stored.status, body: JSON.parse(stored.answer) }, codes: [] }
  }
  if (isLate) return refused('signature_expired')
  const twin = request.kind === 'feedback' ? twinOf(at) : undefined
  if (twin !== undefined) {
    const body = { feedback_id: twin.id, deduplicated: true }
    return { repeat: key === null ? { status: 200, body } : null, codes: [] }
  }
  const codes = Object.entries(refusals[request.kind]).flatMap(([code, holds]) =>
    holds(at) ? [code] : [],
  )
  return refused(...codes, ...(isLost(at) ? ['signature_expired'] : []))
}

/** The same feedback of the same sender within 15 minutes. */
export function twinOf({ db, request, nowMs }: Circumstance): RowOf<'feedback'> | undefined {
  return recentRows(db.feedback, nowMs, 15 * minuteMs).findLast(
    (row) => row.message === request.body['message'],
  )
}

/** True if a restored file may have lost the message that this request repeats. */
function isLost({ db, request, nowMs }: Circumstance): boolean {
  const restoredMs = Date.parse(db.meta.find(({ key }) => key === 'restored_at')?.value ?? '')
  return (
    nowMs <= restoredMs + 2 * windowMs &&
    request.proofs.some(({ timestampMs }) => timestampMs <= restoredMs + windowMs)
  )
}

/** Hashes of senders change daily: only those of today and yesterday are known, also after the clock was set back. */
function recentRows<Row extends { readonly created_at: string }>(
  rows: readonly Row[],
  nowMs: number,
  spanMs: number,
): readonly Row[] {
  const todayMs = Math.floor(nowMs / dayMs) * dayMs
  const since = iso(Math.max(nowMs - spanMs, todayMs - dayMs - 1))
  const end = iso(todayMs + dayMs)
  return rows.filter((row) => row.created_at > since && row.created_at < end)
}

/** A spot of a key or of another address cannot be claimed by e-mail. */
export function isTaken({ claims, workers }: Snapshot, wallet: string | null): boolean {
  return wallet !== null && [...claims, ...workers].some((row) => row.wallet === wallet)
}

export function hasTooManyMails(db: Snapshot, emailHash: string, nowMs: number): boolean {
  const recent = db.email_sends.filter((row) => row.sent_at > iso(nowMs - hourMs))
  const toOne = recent.filter((row) => row.email_hash === emailHash)
  return toOne.length >= limits.mailsToOne || recent.length >= limits.mailsFromOne
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

function webhookOf(db: Snapshot, { params }: SimulatedRequest) {
  return db.alert_subscriptions.find(({ id }) => id === params['id'])
}

function partnerAt(db: Snapshot, { params }: SimulatedRequest) {
  return db.partners.find(({ handle }) => handle === params['handle'])
}

function jobOf(db: Snapshot, { params }: SimulatedRequest) {
  return db.jobs.find(({ id }) => id === params['id'])
}

function roleOf(db: Snapshot, request: SimulatedRequest): string {
  const job = jobOf(db, request)
  if (job?.poster === request.wallet) return 'poster'
  return job !== undefined && awardeeOf(db, job) === request.wallet ? 'awardee' : 'stranger'
}
