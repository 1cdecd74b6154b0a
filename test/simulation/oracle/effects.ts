/** What each write may change, and which row its answer shows. */
import { isDeepStrictEqual } from 'node:util'

import { operations } from '../requests/operations.ts'
import type { Kind } from '../requests/operations.ts'
import { isNear, iso, scoreOf } from './facts.ts'
import { twinOf } from './rules.ts'
import type { Circumstance } from './rules.ts'
import type { Change, Fields, Snapshot, TableName } from './snapshot.ts'

/** Allowed changes by table: `+` inserts rows, `-` deletes rows, `*` updates any column, names update columns. */
export type Writes = Readonly<Partial<Record<TableName, string>>>

export interface Outcome {
  readonly status: number
  readonly body: Fields
}

interface Effect {
  readonly writes: Writes
  /** Table and column of the row that the answer shows, and its value; absent if there is none. */
  readonly row?: readonly [TableName, string, (at: Circumstance, answer: Fields) => unknown]
  /** By default 201 if the row is new, and else 200. */
  readonly status?: number
  readonly columns?: (at: Circumstance) => Fields
  readonly check?: (at: Circumstance, answer: Fields, after: Snapshot) => string | null
}

const history = { oath_history: '+' } as const
const name = { names: '+ - skeleton since', network_writes: '+' } as const
const byHandle = [
  'partners',
  'handle',
  (_: Circumstance, answer: Fields) => answer['handle'],
] as const
const byJob = ['jobs', 'id', (_: Circumstance, answer: Fields) => answer['id']] as const
/** A change of the own subscription, which is recorded once. */
function subscriptionChange(kind: string, columns: Fields): Effect {
  return {
    writes: {
      partners: 'tier status renews_at periods on_expiry updated_at',
      subscription_changes: '+',
      ...history,
    },
    row: byHandle,
    columns: () => columns,
    check: ({ db }, answer, after) => {
      const [only, ...more] = after.subscription_changes.slice(db.subscription_changes.length)
      const isRecorded = only?.kind === kind && only.handle === answer['handle']
      return isRecorded && more.length === 0 ? null : 'its change is not recorded once'
    },
  }
}

/** A transition of a job, which is recorded once. */
function transition(kind: Kind, effect: Omit<Effect, 'check'> & Pick<Effect, 'check'>): Effect {
  return {
    ...effect,
    writes: { job_transitions: '+', ...history, ...effect.writes },
    check: (at, answer, after) => {
      const { db, request } = at
      const added = after.job_transitions.slice(db.job_transitions.length)
      const [only] = added
      const isRecorded = added.length === 1 && only?.event === kind && only.actor === request.wallet
      if (!isRecorded) return 'its transition is not recorded once'
      return effect.check?.(at, answer, after) ?? null
    },
  }
}

export const effects: Readonly<Record<Kind, Effect>> = {
  register: {
    writes: {
      workers: '+ display_name skills url bio receipt_key updated_at',
      worker_skills: '+ -',
      ...name,
    },
    row: ['workers', 'wallet', ({ request }) => request.wallet],
    columns: ({ request }) => ({ display_name: null, receipt_key: null, ...request.body }),
    check: ({ request }, answer, after) => {
      const own = after.names.find((row) => row.wallet === request.wallet && row.kind === 'worker')
      const isLookAlike = after.names.some(
        (row) =>
          row.wallet !== request.wallet &&
          row.skeleton === own?.skeleton &&
          [row.since, row.wallet].join(' ') < [own.since, own.wallet].join(' '),
      )
      const isShown = answer['looks_like_another'] === true
      return isShown === isLookAlike ? null : `looks_like_another should be ${isLookAlike}`
    },
  },
  receipt: {
    writes: { receipts: '+', reputation_ledger: '+', reputation: '+ *', network_writes: '+' },
    row: ['receipts', 'id', ({ request }) => request.derived['id']],
    check: ({ db, request, nowMs }, answer, after) => {
      const entries = after.reputation_ledger
      const earned = entries
        .filter((row) => row.receipt_id === request.derived['id'])
        .reduce((sum, row) => sum + row.value_micro_usdc, 0)
      if (answer['rep_delta'] !== earned / 1e6) return `rep_delta should be ${earned / 1e6}`
      // A group of receipts shares one change: each score counts the entries up to one of them.
      const counts = entries.map((_, at) => at + 1).filter((n) => n >= db.reputation_ledger.length)
      const scores = [db.reputation_ledger.length, ...counts].map((count) =>
        scoreOf(
          { ...after, reputation_ledger: entries.slice(0, count) },
          request.derived['to_wallet'] ?? '',
          nowMs,
        ),
      )
      const shown = Number(answer['new_rep_score'])
      return scores.some((score) => isNear(score, shown))
        ? null
        : `new_rep_score is ${shown}, and not ${scores.at(-1)}`
    },
  },
  claim: {
    // A claim replaces one by e-mail, at times under the same row id.
    writes: { claims: '+ - display_name method email_hash claimed_at', ...name, ...history },
    row: ['claims', 'wallet', ({ request }) => request.wallet],
    status: 201,
    columns: () => ({ email_hash: null }),
  },
  ask: { writes: { email_codes: '+ *' }, status: 202 },
  code: {
    writes: { claims: '+', email_codes: '-', ...name },
    row: ['claims', 'email_hash', ({ request }) => request.derived['email_hash']],
    status: 201,
    columns: ({ db, request }) => {
      const sent = db.email_codes.find((row) => row.email_hash === request.derived['email_hash'])
      return { wallet: sent?.wallet, display_name: sent?.display_name }
    },
  },
  signup: { writes: { partners: '+', ...name, ...history }, row: byHandle },
  attest: {
    writes: {
      partners:
        'attestation_wallet attestation_url attestation_signature_sha256 attestation_signed_at attestation_oath_seq updated_at',
      ...history,
    },
    row: byHandle,
  },
  profile: {
    writes: {
      partners: 'display_name website require_body_signature updated_at',
      ...name,
      ...history,
    },
    row: byHandle,
  },
  free: subscriptionChange('free', { tier: 'free', status: 'active' }),
  leave: subscriptionChange('cancelled', { status: 'cancelled' }),
  subscribe: {
    writes: { alert_subscriptions: '+', ...history },
    row: ['alert_subscriptions', 'id', (_, answer) => answer['id']],
    columns: ({ db, request: { wallet } }) => ({
      wallet,
      after_seq: db.events.at(-1)?.seq ?? 0,
    }),
  },
  unsubscribe: {
    writes: { alert_subscriptions: '-', alert_deliveries: '-', ...history },
    status: 200,
    check: ({ request }, _, { alert_subscriptions: left }) =>
      left.some(({ id }) => id === request.params['id']) ? 'the webhook still exists' : null,
  },
  try: {
    writes: { alert_deliveries: '+', ...history },
    row: ['alert_deliveries', 'id', (_, answer) => answer['delivery_id']],
    status: 202,
    columns: ({ request }) => ({ subscription_id: request.params['id'], event_seq: null }),
  },
  apply: {
    writes: { applications: '+', ...history },
    row: ['applications', 'id', (_, answer) => answer['application_id']],
    columns: ({ request }) => ({ partner: request.wallet }),
  },
  post: transition('post', { writes: { jobs: '+', job_skills: '+' }, row: byJob }),
  bid: transition('bid', {
    writes: {
      job_bids: '+ price_micro_usdc eta_hours proposal updated_at',
      jobs: 'bids_count updated_at',
    },
    row: ['job_bids', 'id', (_, answer) => answer['id']],
    columns: ({ request }) => ({ job_id: request.params['id'], status: 'open' }),
  }),
  award: transition('award', {
    writes: { jobs: 'status awarded_bid updated_at', job_bids: 'status updated_at' },
    row: byJob,
    columns: ({ request }) => ({ status: 'awarded', awarded_bid: request.body['bid_id'] }),
  }),
  deliver: transition('deliver', {
    writes: { jobs: 'status updated_at', job_deliveries: '+' },
    row: ['job_deliveries', 'job_id', ({ request }) => request.params['id']],
  }),
  accept: transition('accept', {
    writes: {
      jobs: 'status receipt_id updated_at',
      receipts: '+',
      reputation_ledger: '+',
      reputation: '+ *',
    },
    row: ['receipts', 'id', (_, answer) => answer['receipt_id']],
    status: 200,
    columns: ({ request }) => ({ job_id: request.params['id'], from_wallet: request.wallet }),
    check: (_, answer) => (answer['rep_delta'] === 0 ? null : 'an accepted job earns reputation'),
  }),
  dispute: transition('dispute', {
    writes: { jobs: 'status updated_at' },
    row: byJob,
    columns: () => ({ status: 'disputed' }),
  }),
  cancel: transition('cancel', {
    writes: { jobs: 'status updated_at', job_bids: 'status updated_at' },
    row: byJob,
    columns: () => ({ status: 'cancelled' }),
  }),
  feedback: {
    writes: { feedback: '+' },
    row: ['feedback', 'id', (_, answer) => answer['feedback_id']],
    check: (at, answer) => {
      const twin = twinOf(at)
      const isTwin = twin !== undefined && twin.id === answer['feedback_id']
      const isRight = answer['deduplicated'] === true ? isTwin : twin === undefined
      return isRight ? null : 'deduplicated is wrong'
    },
  },
  propose: {
    writes: { skill_proposals: '+' },
    row: ['skill_proposals', 'id', (_, answer) => answer['proposal_id']],
    status: 202,
  },
}

export const jobWrites: Readonly<Record<string, Writes>> = {
  build: {},
  expire: {
    jobs: 'status receipt_id updated_at',
    job_bids: 'status updated_at',
    job_transitions: '+',
    receipts: '+',
    reputation_ledger: '+',
    reputation: '+ *',
    partners: 'status updated_at',
  },
  tidy: { used_messages: '-', idempotency_keys: '-', network_writes: '-' },
  poll: {
    polls: '+',
    rail_state: '+ *',
    flags: '+ *',
    events: '+',
    aggregate_cursors: '+ *',
    hourly_aggregates: '+ - *',
  },
  tell: { alert_subscriptions: 'status status_reason disabled_at' },
}

export function findForbidden({ table, before, after }: Change, writes: Writes): string | null {
  const allowed = new Map(Object.entries(writes)).get(table)?.split(' ') ?? []
  if (before === null) return allowed.includes('+') ? null : `a new row of ${table}`
  if (after === null) return allowed.includes('-') ? null : `a deleted row of ${table}`
  if (table === 'names' && before['skeleton'] === after['skeleton']) return 'a name got a new time'
  if (allowed.includes('*')) return null
  const column = Object.keys(after).find(
    (one) => !allowed.includes(one) && before[one] !== after[one],
  )
  return column === undefined ? null : `a changed ${column} of ${table}`
}

/** Returns the problem of an effect and its answer, or null. `at.db` is the state before it. */
export function findEffectProblem(
  at: Circumstance,
  { status, body }: Outcome,
  after: Snapshot,
): string | null {
  const { db, request, nowMs } = at
  const { row, columns, check, writes, ...effect } = effects[request.kind]
  const find = (state: Snapshot): Fields | undefined => {
    if (row === undefined) return undefined
    const [table, column, value] = row
    const rows: readonly Fields[] = state[table]
    return rows.find((one) => one[column] === value(at, body))
  }
  const wanted = effect.status ?? (find(db) === undefined ? 201 : 200)
  if (status !== wanted) return `status ${status}, and not ${wanted}`
  const found = find(after)
  if (row !== undefined && found === undefined) return `no row of ${row[0]}`
  const members = { ...request.body, ...request.derived, ...body, ...columns?.(at) }
  const mismatch = found === undefined ? null : findMismatch(found, members)
  if (mismatch !== null) return mismatch
  const audited = after.oath_history.slice(db.oath_history.length)
  const isAudited = audited.every(
    (one) =>
      one.action === operations[request.kind] &&
      one.wallet === request.wallet &&
      one.created_at === iso(nowMs),
  )
  if (!isAudited || ('oath_history' in writes && audited.length === 0)) {
    return 'the history of oaths is wrong'
  }
  return check?.(at, body, after) ?? null
}

const aliases: Readonly<Record<string, string>> = {
  wallet: 'display',
  attestation_endpoint_url: 'attestation_url',
}

/** Compares members of a body or an answer with the columns of the same meaning; others are ignored. */
export function findMismatch(row: Fields, members: Fields): string | null {
  for (const [name, value] of Object.entries(members)) {
    const columns = [aliases[name] ?? '', `${name}_display`, name]
    const money = name.replace(/_usdc$/, '_micro_usdc')
    const column = columns.find((one) => one in row)
    const fits =
      column !== undefined
        ? isSame(row[column], value)
        : money === name || !(money in row) || row[money] === Math.round(Number(value) * 1e6)
    if (!fits) return `${name} is ${JSON.stringify(value)}, and the row is ${JSON.stringify(row)}`
  }
  return null
}

function isSame(stored: unknown, value: unknown): boolean {
  if (typeof value === 'boolean') return stored === Number(value)
  if (typeof value === 'number' && !Number.isInteger(value)) return isNear(value, Number(stored))
  if (typeof value === 'object' && value !== null) {
    return isDeepStrictEqual(JSON.parse(String(stored)), value)
  }
  // Wallets are stored in lower case where case has no meaning.
  return stored === (value ?? null) || String(stored) === String(value).toLowerCase()
}
