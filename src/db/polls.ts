/** Polls of the rails, all of them kept, and the present state of each rail that follows from them. */
import type { Insertable, Kysely, Selectable } from 'kysely'

import type { JsonObject } from '../core/canonical-json.ts'
import { objectFromJsonText, toJsonText } from './json.ts'
import type { Database, PollsTable, RailStateTable } from './schema.ts'

export interface NewPoll {
  readonly rail: string
  readonly startedAt: string
  readonly durationMs: number
  readonly outcome: 'ok' | 'failed'
  /** Why it failed, without secrets; null for a good poll. */
  readonly error: string | null
  /** Null for a failed poll. */
  readonly figures: object | null
  /** The pointers by which the figures can be checked. */
  readonly evidence: object
  /** Name and version of the filter rule. */
  readonly rule: string
  readonly statusAfter: string
}

export interface StoredPoll extends NewPoll {
  readonly id: number
  readonly figures: JsonObject | null
  readonly evidence: JsonObject
}

/** Figures are JSON objects, whose shape the caller declares and checks. */
export interface StoredRailState<Figures extends object = JsonObject> {
  readonly rail: string
  readonly status: string
  readonly statusSince: string
  /** Of the last good poll, or of the audit; null while nothing is known. */
  readonly figures: Figures | null
  readonly figuresAsOf: string | null
  readonly lastPollId: number | null
  readonly lastPollAt: string | null
  readonly lastGoodPollAt: string | null
  /** Set while the last poll is a failed one. */
  readonly lastError: string | null
  readonly lastDurationMs: number | null
  readonly consecutiveFailures: number
  readonly source: 'audit' | 'poll'
}

const pollColumns = [
  'id',
  'rail',
  'started_at',
  'duration_ms',
  'outcome',
  'error',
  'figures',
  'evidence',
  'rule',
  'status_after',
] as const satisfies readonly (keyof PollsTable)[]

const stateColumns = [
  'rail',
  'status',
  'status_since',
  'figures',
  'figures_as_of',
  'last_poll_id',
  'last_poll_at',
  'last_good_poll_at',
  'last_error',
  'last_duration_ms',
  'consecutive_failures',
  'source',
] as const satisfies readonly (keyof RailStateTable)[]

/** The row of a poll. */
export function toPollRow(poll: NewPoll): Insertable<PollsTable> {
  return {
    rail: poll.rail,
    started_at: poll.startedAt,
    duration_ms: poll.durationMs,
    outcome: poll.outcome,
    error: poll.error,
    figures: poll.figures === null ? null : toJsonText(poll.figures),
    evidence: toJsonText(poll.evidence),
    rule: poll.rule,
    status_after: poll.statusAfter,
  }
}

function toPollRecord(row: Selectable<PollsTable>): StoredPoll {
  return {
    id: row.id,
    rail: row.rail,
    startedAt: row.started_at,
    durationMs: row.duration_ms,
    outcome: row.outcome,
    error: row.error,
    figures: row.figures === null ? null : objectFromJsonText(row.figures),
    evidence: objectFromJsonText(row.evidence),
    rule: row.rule,
    statusAfter: row.status_after,
  }
}

function toStateRow(state: StoredRailState<object>): Insertable<RailStateTable> {
  return {
    rail: state.rail,
    status: state.status,
    status_since: state.statusSince,
    figures: state.figures === null ? null : toJsonText(state.figures),
    figures_as_of: state.figuresAsOf,
    last_poll_id: state.lastPollId,
    last_poll_at: state.lastPollAt,
    last_good_poll_at: state.lastGoodPollAt,
    last_error: state.lastError,
    last_duration_ms: state.lastDurationMs,
    consecutive_failures: state.consecutiveFailures,
    source: state.source,
  }
}

function toState(row: Selectable<RailStateTable>): StoredRailState {
  return {
    rail: row.rail,
    status: row.status,
    statusSince: row.status_since,
    figures: row.figures === null ? null : objectFromJsonText(row.figures),
    figuresAsOf: row.figures_as_of,
    lastPollId: row.last_poll_id,
    lastPollAt: row.last_poll_at,
    lastGoodPollAt: row.last_good_poll_at,
    lastError: row.last_error,
    lastDurationMs: row.last_duration_ms,
    consecutiveFailures: row.consecutive_failures,
    source: row.source,
  }
}

/** The id of the new poll. */
export async function insertPoll(db: Kysely<Database>, poll: NewPoll): Promise<number> {
  const { id } = await db
    .insertInto('polls')
    .values(toPollRow(poll))
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

export interface HistoryRange {
  /** At most so many of the newest. */
  readonly limit?: number
  /** Only polls that started at or after this time. */
  readonly from?: string
}

/** Polls of one rail, newest first. */
export async function historyOf(
  db: Kysely<Database>,
  rail: string,
  range: HistoryRange = {},
): Promise<readonly StoredPoll[]> {
  const rows = await db
    .selectFrom('polls')
    .select(pollColumns)
    .where('rail', '=', rail)
    .$if(range.from !== undefined, (query) => query.where('started_at', '>=', range.from ?? ''))
    .orderBy('started_at', 'desc')
    .orderBy('id', 'desc')
    .$if(range.limit !== undefined, (query) => query.limit(range.limit ?? 0))
    .execute()
  return rows.map(toPollRecord)
}

/** Polls of all rails after a given id, oldest first: whoever keeps the last id reads only what is new. */
export async function pollsAfter(
  db: Kysely<Database>,
  afterId: number,
  limit: number,
): Promise<readonly StoredPoll[]> {
  const rows = await db
    .selectFrom('polls')
    .select(pollColumns)
    .where('id', '>', afterId)
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(toPollRecord)
}

/** Every poll of every rail, newest first within each rail. A year of 60 rails is some 90,000 polls. */
export async function allHistory(
  db: Kysely<Database>,
  from = '',
): Promise<ReadonlyMap<string, readonly StoredPoll[]>> {
  const rows = await db
    .selectFrom('polls')
    .select(pollColumns)
    .where('started_at', '>=', from)
    .orderBy('rail')
    .orderBy('started_at', 'desc')
    .orderBy('id', 'desc')
    .execute()
  const byRail = new Map<string, StoredPoll[]>()
  for (const row of rows) {
    const polls = byRail.get(row.rail)
    if (polls === undefined) byRail.set(row.rail, [toPollRecord(row)])
    else polls.push(toPollRecord(row))
  }
  return byRail
}

/** The state of every rail that has one, by rail. */
export async function loadRailStates(
  db: Kysely<Database>,
): Promise<ReadonlyMap<string, StoredRailState>> {
  const rows = await db.selectFrom('rail_state').select(stateColumns).orderBy('rail').execute()
  return new Map(rows.map((row) => [row.rail, toState(row)]))
}

/** Replaces the state of the rail. In the transaction of the poll that changed it. */
export async function saveRailState(
  db: Kysely<Database>,
  state: StoredRailState<object>,
): Promise<void> {
  const { rail: _, ...changes } = toStateRow(state)
  await db
    .insertInto('rail_state')
    .values(toStateRow(state))
    .onConflict((conflict) => conflict.column('rail').doUpdateSet(changes))
    .execute()
}
