/** What each write may change, and which row its answer shows. */
import { isDeepStrictEqual } from 'node:util'

import { operations } from '../requests/operations.ts'
import type { Kind } from '../requests/operations.ts'
import { isNear, iso } from './facts.ts'
import { codeOf } from './rules.ts'
import type { Circumstance } from './rules.ts'
import type { Change, Fields, RowOf, Snapshot, TableName } from './snapshot.ts'

/** Allowed changes by table: `+` inserts rows, `-` deletes rows, `*` updates any column, names update columns. */
export type Writes = Readonly<Partial<Record<TableName, string>>>

export interface Outcome {
  readonly status: number
  readonly body: Fields
}

interface Effect {
  readonly writes: Writes
  /** Table and column of the row that the answer shows, and the member that identifies it; absent if there is no row. */
  readonly row?: readonly [TableName, string, string]
  /** By default 201 if the row is new, and else 200. */
  readonly status?: number
  /** Columns of the row, and the members with their values; null for an empty column. */
  readonly columns?: Readonly<Record<string, string | null>>
  /** The table that records each such write in one row. */
  readonly recordedIn?: 'subscription_changes' | 'job_transitions'
  readonly check?: (at: Circumstance, answer: Fields, after: Snapshot) => string | null
}

const webhookHealth = 'status_reason failures failing_since last_error paused_until'
const history = { oath_history: '+' } as const
const name = { names: '+ - skeleton since', network_writes: '+' } as const
const byHandle = ['partners', 'handle', 'handle'] as const
const byJob = ['jobs', 'id', 'id'] as const
const earned = {
  log_queue: '+',
  receipts: '+',
  reputation_ledger: '+',
  reputation: '+ *',
  payers: '+',
  payer_sums: '+ *',
  reputation_reviews: '+',
} as const

const subscriptionChange: Effect = {
  writes: {
    partners: 'tier status renews_at periods on_expiry updated_at',
    subscription_changes: '+',
    ...history,
  },
  row: byHandle,
  recordedIn: 'subscription_changes',
}

function transition(writes: Writes, effect: Omit<Effect, 'writes'> = { row: byJob }): Effect {
  return {
    ...effect,
    writes: { job_transitions: '+', ...history, ...writes },
    recordedIn: 'job_transitions',
  }
}

export const effects: Readonly<Record<Kind, Effect>> = {
  register: {
    writes: {
      workers: '+ display_name skills url bio receipt_key updated_at',
      worker_skills: '+ -',
      ...name,
    },
    row: ['workers', 'wallet', 'requester'],
  },
  receipt: {
    writes: { ...earned, network_writes: '+' },
    row: ['receipts', 'id', 'receipt_id'],
    check: ({ request }, answer, after) => {
      const value = after.reputation_ledger
        .filter((row) => row.receipt_id === request.derived['id'])
        .reduce((sum, row) => sum + row.value_micro_points, 0)
      return answer['rep_delta'] === value / 1e6 ? null : `rep_delta should be ${value / 1e6}`
    },
  },
  claim: {
    // A claim replaces one by e-mail, at times under the same row id.
    writes: { claims: '+ - display_name method email_hash claimed_at', ...name, ...history },
    row: ['claims', 'wallet', 'requester'],
    status: 201,
    columns: { email_hash: null },
  },
  ask: { writes: { email_codes: '+ *' }, status: 202 },
  code: {
    writes: { claims: '+', email_codes: 'used', ...name },
    // 200: the code of the claim was sent again.
    row: ['claims', 'email_hash', 'email_hash'],
    check: ({ db, request, nowMs }, _, after) => {
      const code = codeOf(db, request, nowMs)
      if (code?.code_hash !== request.derived['code_hash']) return 'its code is not valid'
      const claim = after.claims.find(({ email_hash: hash }) => hash === code?.email_hash)
      const isSame = claim?.wallet === code?.wallet && claim?.display_name === code?.display_name
      return isSame ? null : 'it claims something else'
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
  free: subscriptionChange,
  leave: subscriptionChange,
  subscribe: {
    writes: { alert_subscriptions: '+', alert_deliveries: '+', ...history },
    row: ['alert_subscriptions', 'id', 'id'],
    columns: { wallet: 'requester' },
    check: ({ db }, answer, after) => {
      const webhook = after.alert_subscriptions.find(({ id }) => id === answer['id'])
      const isNext = webhook?.after_seq === (db.events.at(-1)?.seq ?? 0)
      return isNext ? null : 'the webhook does not begin with the next event'
    },
  },
  unsubscribe: {
    writes: { alert_subscriptions: '-', alert_deliveries: '-', ...history },
    status: 200,
    check: ({ request }, _, { alert_subscriptions: left }) =>
      left.some(({ id }) => id === request.params['id']) ? 'the webhook still exists' : null,
  },
  try: {
    writes: { alert_deliveries: '+', ...history },
    row: ['alert_deliveries', 'id', 'delivery_id'],
    status: 202,
    columns: { subscription_id: 'target', event_seq: null },
  },
  enable: {
    writes: {
      alert_subscriptions: `after_seq status disabled_at ${webhookHealth}`,
      alert_deliveries: '+ -',
      ...history,
    },
    row: ['alert_deliveries', 'id', 'delivery_id'],
    status: 202,
    columns: { subscription_id: 'target', event_seq: null },
  },
  apply: {
    writes: { applications: '+', ...history },
    row: ['applications', 'id', 'application_id'],
    columns: { partner: 'requester' },
  },
  post: transition({ jobs: '+', job_skills: '+' }),
  bid: transition(
    {
      job_bids: '+ price_micro_usdc eta_hours proposal updated_at',
      jobs: 'bids_count updated_at',
    },
    { row: ['job_bids', 'id', 'id'], columns: { job_id: 'target' } },
  ),
  award: transition(
    { jobs: 'status awarded_bid updated_at', job_bids: 'status updated_at' },
    { row: byJob, columns: { awarded_bid: 'bid_id' } },
  ),
  deliver: transition(
    { jobs: 'status updated_at', job_deliveries: '+' },
    { row: ['job_deliveries', 'job_id', 'target'] },
  ),
  accept: transition(
    { jobs: 'status receipt_id updated_at', ...earned },
    {
      row: ['receipts', 'id', 'receipt_id'],
      status: 200,
      columns: { job_id: 'target', from_wallet: 'requester' },
      check: (_, answer) => (answer['rep_delta'] === 0 ? null : 'an accepted job earns reputation'),
    },
  ),
  dispute: transition({ jobs: 'status updated_at' }),
  cancel: transition({ jobs: 'status updated_at', job_bids: 'status updated_at' }),
  feedback: { writes: { feedback: '+' }, row: ['feedback', 'id', 'feedback_id'] },
  propose: {
    writes: { skill_proposals: '+' },
    row: ['skill_proposals', 'id', 'proposal_id'],
    status: 202,
  },
}

export const jobWrites: Readonly<Record<string, Writes>> = {
  build: { evidence: '-' },
  expire: {
    jobs: 'status receipt_id updated_at',
    job_bids: 'status updated_at',
    job_transitions: '+',
    ...earned,
    partners: 'status updated_at',
  },
  tidy: {
    answers: '-',
    used_messages: '-',
    idempotency_keys: '-',
    network_writes: '-',
    jobs: 'title description skills texts_sha256 texts_removed_at',
    job_skills: '-',
    job_bids: 'proposal texts_sha256 texts_removed_at',
  },
  poll: {
    polls: '+',
    evidence: '+ kept_until',
    backfills: '+ * -',
    rail_state: '+ *',
    flags: '+ *',
    events: '+',
    log_queue: '+',
    aggregate_cursors: '+ *',
    hourly_aggregates: '+ *',
  },
  tell: { alert_subscriptions: `status disabled_at ${webhookHealth}` },
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

/** Writes overlap on PostgreSQL, so that a newer row may have a smaller number. */
function newRows<Row extends { readonly seq: number }>(
  before: readonly Row[],
  after: readonly Row[],
): readonly Row[] {
  const known = new Set(before.map(({ seq }) => seq))
  return after.filter(({ seq }) => !known.has(seq))
}

/** Returns the problem of an effect and its answer, or null. `at.db` is the state before it. */
export function findEffectProblem(
  at: Circumstance,
  { status, body }: Outcome,
  after: Snapshot,
): string | null {
  const { db, request, nowMs } = at
  const { kind, wallet: requester } = request
  const { row, columns = {}, recordedIn, check, writes, ...effect } = effects[kind]
  const facts: Fields = {
    ...request.body,
    ...request.derived,
    ...body,
    requester,
    target: request.params['id'],
  }
  const find = (state: Snapshot): Fields | undefined => {
    if (row === undefined) return undefined
    const [table, column, member] = row
    const rows: readonly Fields[] = state[table]
    return rows.find((one) => one[column] === facts[member])
  }
  const wanted = effect.status ?? (find(db) === undefined ? 201 : 200)
  if (status !== wanted) return `status ${status}, and not ${wanted}`
  const found = find(after)
  if (row !== undefined && found === undefined) return `no row of ${row[0]}`
  const own: Record<string, unknown> = {}
  for (const [column, member] of Object.entries(columns)) own[column] = facts[member ?? '']
  const members = {
    ...request.body,
    ...request.derived,
    ...body,
    ...own,
  }
  const mismatch = found === undefined ? null : findMismatch(found, members)
  if (mismatch !== null) return mismatch
  if (recordedIn !== undefined) {
    const [only, ...more] = newRows<RowOf<'job_transitions' | 'subscription_changes'>>(
      db[recordedIn],
      after[recordedIn],
    )
    const record = { event: kind, actor: requester, handle: body['handle'] }
    if (only === undefined || more.length > 0 || findMismatch(only, record) !== null) {
      return `it is not recorded once in ${recordedIn}`
    }
  }
  const audited = newRows(db.oath_history, after.oath_history)
  const isAudited = audited.every(
    (one) =>
      one.action === operations[kind] && one.wallet === requester && one.created_at === iso(nowMs),
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
