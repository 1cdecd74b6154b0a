/**
 * What each request must come to, written down from the rules of the ledger and not from its code: given a state and
 * the time at which the request came, it is refused, a repeat, or taken with these rows and this answer.
 */
import { dayMs, iso, isLookAlike, partnerOf, scoreOf, statusAt } from './state.ts'
import type { Job, Kept, Note, State } from './state.ts'

export type Intent =
  | {
      readonly kind: 'register'
      readonly name: string | null
      readonly looks: string | null
      readonly skills: readonly string[]
      readonly isOutside: boolean
      readonly receiptKey: string | null
    }
  | {
      readonly kind: 'receipt'
      readonly id: string
      readonly to: string
      readonly payer: string | null
      readonly platform: string | null
      readonly publicKey: string | null
      readonly amountMicro: number
    }
  | { readonly kind: 'claim'; readonly name: string; readonly looks: string }
  | {
      readonly kind: 'signup'
      readonly handle: string
      readonly name: string
      readonly looks: string
    }
  | { readonly kind: 'attest'; readonly handle: string; readonly url: string }
  | { readonly kind: 'post'; readonly title: string; readonly deadlineMs: number }
  | { readonly kind: 'bid'; readonly job: string; readonly priceMicro: number }
  | { readonly kind: 'award'; readonly job: string; readonly bid: string }
  | { readonly kind: 'deliver'; readonly job: string }
  | { readonly kind: 'accept'; readonly job: string }
  | { readonly kind: 'dispute'; readonly job: string }
  | { readonly kind: 'cancel'; readonly job: string }
  | { readonly kind: 'feedback'; readonly text: string }
  | { readonly kind: 'propose'; readonly text: string; readonly slug: string }

export interface Proof {
  readonly wallet: string
  readonly sha: string
  readonly timestampMs: number
}

/** A request as far as the rules look at it. */
export interface Asked {
  readonly intent: Intent
  /** The wallet that signs; empty where none does. */
  readonly wallet: string
  /** As answers print it. */
  readonly display: string
  readonly proofs: readonly Proof[]
  readonly key: string | null
  readonly caller: string
  readonly requestSha: string
  readonly address: string
  readonly agent: string
  /** Codes of refusals that stand before anything else. */
  readonly flaws: readonly string[]
}

type Body = Readonly<Record<string, unknown>>

export type Verdict =
  | { readonly kind: 'refused'; readonly codes: readonly string[] }
  | { readonly kind: 'repeat'; readonly status: number; readonly body: Body }
  | Taken

export interface Taken {
  readonly kind: 'taken'
  readonly status: number
  /** Members that the answer must have. */
  readonly answer: Body
  /** Writes what follows; `answer` is the whole answer, for what the ledger names itself. */
  readonly write: (state: State, answer: Body) => void
}

const windowMs = 5 * 60_000
const hourMs = 3_600_000

const refused = (...codes: string[]): Verdict => ({ kind: 'refused', codes })
export const usedKey = ({ wallet, sha }: Proof): string => `${wallet} ${sha}`
export const heldKey = ({ caller, key }: Asked): string => `${caller} ${key ?? ''}`

export function judge(state: State, asked: Asked, nowMs: number): Verdict {
  const isTimely = asked.proofs.every(
    ({ timestampMs }) => Math.abs(nowMs - timestampMs) <= windowMs,
  )
  const flaws = [...asked.flaws, ...(isTimely || asked.key !== null ? [] : ['signature_expired'])]
  if (flaws.length > 0) return refused(...flaws)
  const { intent } = asked
  if (intent.kind === 'attest') {
    const partner = state.partners.get(intent.handle)
    if (partner === undefined) return refused('unknown_partner')
    if (partner.wallet !== asked.wallet) return refused('forbidden')
  }
  for (const proof of asked.proofs) {
    const used = state.used.get(usedKey(proof))
    if (used === undefined) continue
    if (used.requestSha !== asked.requestSha) return refused('signature_reused')
    return { kind: 'repeat', status: 200, body: used.body }
  }
  const held = asked.key === null ? undefined : state.keys.get(heldKey(asked))
  if (held !== undefined && held.untilMs > nowMs) {
    if (held.requestSha !== asked.requestSha) return refused('idempotency_key_reused')
    return { kind: 'repeat', status: held.status, body: held.body }
  }
  const { restoredMs } = state
  // What the file has lost may have held what this would repeat.
  const isLost =
    restoredMs !== null &&
    nowMs <= restoredMs + 2 * windowMs &&
    asked.proofs.some(({ timestampMs }) => timestampMs <= restoredMs)
  if (!isTimely || isLost) return refused('signature_expired')
  const verdict = rule(state, asked, nowMs)
  if (verdict.kind !== 'taken') return verdict
  return {
    ...verdict,
    write: (next, answer) => {
      verdict.write(next, answer)
      keep(next, asked, { status: verdict.status, body: answer, nowMs })
    },
  }
}

function keep(
  state: State,
  asked: Asked,
  answer: { readonly status: number; readonly body: Body; readonly nowMs: number },
): void {
  const { requestSha } = asked
  const { status, body, nowMs } = answer
  for (const proof of asked.proofs) {
    const untilMs = proof.timestampMs + 2 * windowMs
    state.used.set(usedKey(proof), { requestSha, status, body, untilMs })
  }
  if (asked.key === null) return
  const held: Kept = { requestSha, status, body, untilMs: nowMs + dayMs }
  state.keys.delete(heldKey(asked))
  state.keys.set(heldKey(asked), held)
}

function rule(state: State, asked: Asked, nowMs: number): Verdict {
  const { intent, wallet, display } = asked
  const now = iso(nowMs)
  switch (intent.kind) {
    case 'register':
      return register(state, { ...asked, intent }, nowMs)
    case 'receipt':
      return receipt(state, { ...asked, intent }, nowMs)
    case 'claim': {
      if (state.claims.has(wallet)) return refused('spot_claimed')
      return {
        kind: 'taken',
        status: 201,
        answer: { wallet: display, display_name: intent.name, claimed_at: now },
        write: (next) => {
          next.claims.set(wallet, { name: intent.name, atMs: nowMs })
          rename(next, { kind: 'claim', wallet, looks: intent.looks, nowMs })
          next.audit.push(['claim', wallet, null, 'claimSpot', now])
        },
      }
    }
    case 'signup': {
      if (partnerOf(state, wallet) !== null) return refused('conflict')
      if (state.partners.has(intent.handle)) return refused('handle_taken')
      const { handle, name } = intent
      return {
        kind: 'taken',
        status: 201,
        answer: { handle, wallet: display, display_name: name, status: 'active', created_at: now },
        write: (next) => {
          next.partners.set(handle, { wallet, name, url: null, signedMs: null, atMs: nowMs })
          rename(next, { kind: 'partner', wallet, looks: intent.looks, nowMs })
          next.audit.push(['partner', wallet, handle, 'signupPartner', now])
        },
      }
    }
    case 'attest': {
      const { handle, url } = intent
      const partner = state.partners.get(handle)
      const signedMs = asked.proofs[0]?.timestampMs ?? 0
      if (partner === undefined) return refused('unknown_partner')
      if (partner.signedMs !== null && signedMs < partner.signedMs) return refused('conflict')
      return {
        kind: 'taken',
        status: 200,
        answer: { handle, attestation_endpoint_url: url, attestation_signed_at: iso(signedMs) },
        write: (next) => {
          next.partners.set(handle, { ...partner, url, signedMs })
          next.audit.push(['write', wallet, handle, 'updateAttestationEndpoint', now])
        },
      }
    }
    case 'feedback': {
      const mine = state.feedback.filter(({ address }) => address === asked.address)
      const known = mine.filter(({ atMs }) => isKnownDay(atMs, nowMs))
      const same = known.filter(({ agent }) => agent === asked.agent)
      const twin = same.findLast(
        ({ text, atMs }) => text === intent.text && atMs > nowMs - 15 * 60_000,
      )
      if (twin !== undefined) {
        const body = { feedback_id: twin.id, deduplicated: true }
        if (asked.key === null) return { kind: 'repeat', status: 200, body }
        return { kind: 'taken', status: 200, answer: body, write: () => undefined }
      }
      const recent = (notes: readonly Note[]) => notes.filter(({ atMs }) => atMs > nowMs - hourMs)
      if (recent(same).length >= 5 || recent(known).length >= 30) return refused('rate_limited')
      return {
        kind: 'taken',
        status: 201,
        answer: { deduplicated: false },
        write: (next, answer) => {
          const { address, agent } = asked
          const id = String(answer['feedback_id'])
          next.feedback.push({ id, text: intent.text, address, agent, atMs: nowMs })
        },
      }
    }
    case 'propose': {
      const mine = state.proposals.filter(({ address }) => address === asked.address)
      const recent = mine.filter(({ atMs }) => atMs > nowMs - hourMs && isKnownDay(atMs, nowMs))
      if (recent.length >= 10) return refused('rate_limited')
      return {
        kind: 'taken',
        status: 202,
        answer: { slug: intent.slug, status: 'pending' },
        write: (next, answer) => {
          const { address, agent } = asked
          const id = String(answer['proposal_id'])
          next.proposals.push({ id, text: intent.text, address, agent, atMs: nowMs })
        },
      }
    }
    case 'post':
    case 'bid':
    case 'award':
    case 'deliver':
    case 'accept':
    case 'dispute':
    case 'cancel':
      break
  }
  return exchange(state, { ...asked, intent }, nowMs)
}

/** Senders are known by hashes whose key changes daily; those of today and yesterday are looked for. */
function isKnownDay(atMs: number, nowMs: number): boolean {
  const days = Math.floor(nowMs / dayMs) - Math.floor(atMs / dayMs)
  return days === 0 || days === 1
}

type Of<Kind extends Intent['kind']> = Omit<Asked, 'intent'> & {
  readonly intent: Extract<Intent, { readonly kind: Kind }>
}

function rename(
  state: State,
  named: {
    readonly kind: string
    readonly wallet: string
    readonly looks: string | null
    readonly nowMs: number
  },
): void {
  const { kind, wallet, looks, nowMs } = named
  const at = `${kind} ${wallet}`
  if (looks === null) state.names.delete(at)
  else if (state.names.get(at)?.looks !== looks) {
    state.names.set(at, { wallet, looks, sinceMs: nowMs })
  }
}

function register(state: State, asked: Of<'register'>, nowMs: number): Verdict {
  const { intent, wallet, display } = asked
  if (intent.isOutside && partnerOf(state, wallet) === null) return refused('refused')
  const before = state.workers.get(wallet)
  const registeredMs = before?.registeredMs ?? nowMs
  const { name, skills, receiptKey, looks } = intent
  const write = (next: State): void => {
    next.workers.set(wallet, { name, skills, receiptKey, registeredMs, updatedMs: nowMs })
    rename(next, { kind: 'worker', wallet, looks, nowMs })
  }
  const after = { ...state, names: new Map(state.names), workers: new Map(state.workers) }
  write(after)
  return {
    kind: 'taken',
    status: before === undefined ? 201 : 200,
    answer: {
      wallet: display,
      display_name: name ?? undefined,
      skills,
      registered_at: iso(registeredMs),
      updated_at: iso(nowMs),
      looks_like_another: isLookAlike(after, 'worker', wallet) ? true : undefined,
    },
    write,
  }
}

function receipt(state: State, asked: Of<'receipt'>, nowMs: number): Verdict {
  const { intent } = asked
  const { id, to, payer, platform, publicKey, amountMicro } = intent
  if (publicKey !== null) {
    const wanted = state.workers.get(to)?.receiptKey ?? null
    if (wanted !== null && wanted !== publicKey) return refused('forbidden')
  }
  const known = state.receipts.get(id)
  const entries = [...state.entries]
  if (known === undefined && platform !== null) {
    const from = payer ?? `platform:${platform}`
    const isSelf = from === to
    const earlier = entries.filter(
      (entry) => entry.wallet === to && entry.payer === from && entry.rank !== null,
    )
    const rank = isSelf ? null : earlier.length + 1
    const valueMicro = rank === null ? 0 : Number((BigInt(amountMicro) * 8n) / (10n * BigInt(rank)))
    entries.push({
      wallet: to,
      receiptId: id,
      payer: from,
      rank,
      amountMicro,
      valueMicro,
      atMs: nowMs,
    })
  }
  const earned = entries.filter(({ receiptId }) => receiptId === id)
  return {
    kind: 'taken',
    status: known === undefined ? 201 : 200,
    answer: {
      receipt_id: id,
      accepted_at: iso(known?.atMs ?? nowMs),
      kind: platform === null ? 'signed' : 'platform',
      verification: platform === null ? 'unverified' : 'verified',
      rep_delta: earned.reduce((sum, { valueMicro }) => sum + valueMicro, 0) / 1e6,
      new_rep_score: scoreOf(entries, to, nowMs),
    },
    write: (next) => {
      if (known !== undefined) return
      const kind = platform === null ? 'signed' : 'platform'
      const submitter = asked.wallet
      const facts = { id, to, from: payer, submitter, kind, platform, amountMicro } as const
      next.receipts.set(id, { ...facts, atMs: nowMs, jobId: null })
      next.entries.push(...entries.slice(next.entries.length))
    },
  }
}

type ExchangeKind = 'post' | 'bid' | 'award' | 'deliver' | 'accept' | 'dispute' | 'cancel'

const mayBe = {
  bid: ['open'],
  award: ['open'],
  deliver: ['awarded'],
  accept: ['delivered', 'disputed'],
  dispute: ['delivered'],
  cancel: ['open', 'awarded'],
} as const
const becomes = {
  bid: 'open',
  award: 'awarded',
  deliver: 'delivered',
  accept: 'accepted',
  dispute: 'disputed',
  cancel: 'cancelled',
} as const

function exchange(state: State, asked: Of<ExchangeKind>, nowMs: number): Verdict {
  const { intent, wallet, display } = asked
  const now = iso(nowMs)
  const handle = partnerOf(state, wallet)
  if (handle === null) return refused('not_a_partner')
  const audited = (action: string, more: (next: State, answer: Body) => void) => ({
    write: (next: State, answer: Body) => {
      more(next, answer)
      next.audit.push(['write', wallet, handle, action, now])
      if (intent.kind === 'deliver') next.audit.push(['write', wallet, handle, action, now])
    },
  })
  if (intent.kind === 'post') {
    const { title, deadlineMs } = intent
    if (deadlineMs <= nowMs || deadlineMs > nowMs + 365 * dayMs) return refused('invalid_input')
    return {
      kind: 'taken',
      status: 201,
      answer: { poster: display, title, status: 'open', bids_count: 0, created_at: now },
      ...audited('postJob', (next, answer) => {
        const id = String(answer['id'])
        const none = { awardee: null, deliveredMs: null, receiptId: null }
        const job = { poster: wallet, title, status: 'open', deadlineMs, bids: new Map(), ...none }
        next.jobs.set(id, job)
        next.moves.push([id, 'post', 'poster', wallet, 'open'])
      }),
    }
  }
  const job = state.jobs.get(intent.job)
  if (job === undefined) return refused('unknown_job')
  const isPoster = wallet === job.poster
  const isAwardee = wallet === job.awardee
  const may = {
    bid: !isPoster,
    award: isPoster,
    deliver: isAwardee,
    accept: isPoster,
    dispute: isPoster || isAwardee,
    cancel: isPoster,
  }[intent.kind]
  if (!may) return refused('forbidden')
  const status = statusAt(job, nowMs)
  const allowed: readonly string[] = mayBe[intent.kind]
  if (!allowed.includes(status)) return refused('conflict')
  const isLate = job.deliveredMs !== null && nowMs >= job.deliveredMs + 14 * dayMs
  if (intent.kind === 'dispute' && isLate) return refused('conflict')
  const own = job.bids.get(wallet)
  const role = isPoster
    ? 'poster'
    : isAwardee
      ? 'awardee'
      : own === undefined
        ? 'stranger'
        : 'bidder'
  const put = (next: State, change: Partial<Job>): void => {
    const to = becomes[intent.kind]
    next.jobs.set(intent.job, { ...job, status: to, ...change })
    next.moves.push([intent.job, intent.kind, role, wallet, to])
  }
  switch (intent.kind) {
    case 'bid': {
      const price = { bidder: display, price_usdc: intent.priceMicro / 1e6, status: 'open' }
      return {
        kind: 'taken',
        status: own === undefined ? 201 : 200,
        answer: { job_id: intent.job, ...price, updated_at: now },
        ...audited('bidOnJob', (next, answer) => {
          const id = own?.id ?? String(answer['id'])
          const bid = { id, priceMicro: intent.priceMicro, status: 'open' }
          put(next, { bids: new Map([...job.bids, [wallet, bid]]) })
        }),
      }
    }
    case 'award': {
      const taken = [...job.bids].find(([, { id }]) => id === intent.bid)
      if (taken === undefined) return refused('refused')
      return {
        kind: 'taken',
        status: 200,
        answer: { id: intent.job, status: 'awarded', awarded_bid: intent.bid },
        ...audited('awardJob', (next) => {
          const bids = new Map(
            [...job.bids].map(([bidder, bid]) => {
              const status = bid.id === intent.bid ? 'awarded' : 'rejected'
              return [bidder, { ...bid, status }] as const
            }),
          )
          put(next, { bids, awardee: taken[0] })
        }),
      }
    }
    case 'deliver':
      return {
        kind: 'taken',
        status: 201,
        answer: { job_id: intent.job, deliverer: display, created_at: now },
        ...audited('deliverJob', (next, answer) => {
          put(next, { deliveredMs: nowMs })
          next.deliveries.push([String(answer['id']), intent.job, wallet])
        }),
      }
    case 'accept':
      return {
        kind: 'taken',
        status: 200,
        answer: { rep_delta: 0 },
        ...audited('acceptJob', (next, answer) => {
          const receiptId = String(answer['receipt_id'])
          put(next, { deliveredMs: null, receiptId })
          issue(next, intent.job, { job, receiptId, nowMs })
        }),
      }
    case 'dispute':
    case 'cancel':
      break
  }
  return {
    kind: 'taken',
    status: 200,
    answer: { id: intent.job, status: becomes[intent.kind] },
    ...audited(`${intent.kind}Job`, (next) => {
      const isOver = intent.kind === 'cancel'
      put(next, { deliveredMs: null, ...(isOver ? { bids: lapsed(job) } : {}) })
    }),
  }
}

function lapsed(job: Job): Job['bids'] {
  return new Map(
    [...job.bids].map(([bidder, bid]) => [
      bidder,
      { ...bid, status: bid.status === 'open' ? 'lapsed' : bid.status },
    ]),
  )
}

/** The receipt of the exchange and its entry, which weighs nothing. */
function issue(
  state: State,
  jobId: string,
  of: { readonly job: Job; readonly receiptId: string; readonly nowMs: number },
): void {
  const { job, receiptId: id, nowMs: atMs } = of
  const to = job.awardee ?? ''
  const amountMicro = job.bids.get(to)?.priceMicro ?? 0
  const facts = { id, to, from: job.poster, submitter: job.poster, platform: 'job-exchange' }
  state.receipts.set(id, { ...facts, kind: 'platform', amountMicro, atMs, jobId })
  const none = { rank: null, valueMicro: 0 }
  state.entries.push({ wallet: to, receiptId: id, payer: job.poster, amountMicro, atMs, ...none })
}

/** What time has decided, written down by the builder. Answers what is wrong with it; null where nothing is. */
export function moveByClock(
  state: State,
  move: { readonly job: string; readonly event: string; readonly receiptId: string | null },
  nowMs: number,
): string | null {
  const job = state.jobs.get(move.job)
  if (job === undefined) return 'there is no such job'
  if (move.event === 'expire') {
    if (statusAt(job, nowMs) !== 'expired' || job.status === 'expired') return 'it was not due'
    state.jobs.set(move.job, { ...job, status: 'expired', bids: lapsed(job) })
    state.moves.push([move.job, 'expire', 'clock', null, 'expired'])
    return null
  }
  const dueMs = (job.deliveredMs ?? Infinity) + 14 * dayMs
  if (job.status !== 'delivered' || nowMs < dueMs) return 'the poster could still answer'
  const receiptId = move.receiptId ?? ''
  state.jobs.set(move.job, { ...job, status: 'accepted', deliveredMs: null, receiptId })
  state.moves.push([move.job, 'accept', 'clock', null, 'accepted'])
  issue(state, move.job, { job, receiptId, nowMs })
  return null
}
