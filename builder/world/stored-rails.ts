/** Converts polls: measured → stored → world. `documents/rail-view.ts` makes the wire form. */
import { z } from 'zod'

import { railStatus, statusReason } from '../../src/contract/schemas/rail.ts'
import { entriesOf } from '../../src/core/entries.ts'
import { evidencePointer, unknownFigures } from '../../src/core/figures.ts'
import type { EvidencePointer, Figures } from '../../src/core/figures.ts'
import { stateFromAudit } from '../../src/core/rail-poll.ts'
import type { RailState } from '../../src/core/rail-poll.ts'
import { auditedFigures } from '../../src/core/rules/audited.ts'
import { parseTime } from '../../src/core/time.ts'
import type { StoredPoll, StoredRailState } from '../../src/db/polls.ts'
import type { NewRecordOf } from '../../src/db/rows.ts'
import type { PastPoll } from '../rails/past-polls.ts'
import { StoredStateError } from '../rails/payout-store.ts'
import type { AuthoredRail } from './authored-rails.ts'
import type { PollRecord } from './world.ts'

const figure = z.number().nullable()

/** Figures that an older version did not measure are unknown. */
const figuresShape = z
  .partialRecord(z.enum(entriesOf(unknownFigures).map(([name]) => name)), figure)
  .transform((stored): Figures => ({ ...unknownFigures, ...stored }))

const storedMeasurement = z.strictObject({
  figures: figuresShape,
  removed30d: z.record(z.string(), z.number()),
  notes: z.array(z.string()),
  counters: z.record(z.string(), z.number()),
})

const storedState = storedMeasurement.omit({ counters: true }).extend({
  status: railStatus,
  statusSinceMs: z.number(),
  statusRules: z.string(),
  statusReasons: z.array(statusReason),
  undecidedSinceMs: figure,
  figuresSource: z.enum(['poll', 'audit']),
  figuresAsOfMs: z.number(),
  lastPollAtMs: figure,
  lastGoodPollAtMs: figure,
  lastDurationMs: z.number(),
  lastError: z.string().nullable(),
  consecutiveFailures: z.number(),
})

const storedEvidence = z.strictObject({ pointers: z.array(evidencePointer) })

export function toStored(
  { figures, removed30d, notes }: Pick<RailState, 'figures' | 'notes' | 'removed30d'>,
  counters: Readonly<Record<string, number>>,
): z.infer<typeof storedMeasurement> {
  return { figures, removed30d: { ...removed30d }, notes: [...notes], counters: { ...counters } }
}

export function evidenceOf(row: StoredPoll): readonly EvidencePointer[] {
  return read(row.rail, storedEvidence, row.evidence).pointers
}

/** Uses the figures of the audit before the first good poll. */
export function stateOf(authored: AuthoredRail, row: StoredRailState | undefined): RailState {
  const { rail, audit } = authored
  const audited = stateFromAudit({
    rail,
    status: audit.status,
    asOfMs: Date.parse(audit.as_of),
    figures: auditedFigures(audit),
  })
  if (row === undefined) return audited
  const state = { rail, ...read(rail, storedState, row.state) }
  if (state.figuresSource === 'poll') return state
  const { lastPollAtMs, lastGoodPollAtMs, lastDurationMs, lastError, consecutiveFailures } = state
  const polls = { lastPollAtMs, lastGoodPollAtMs, lastDurationMs, lastError, consecutiveFailures }
  return { ...audited, ...polls }
}

export function toStateRow(
  { rail, ...state }: RailState,
  lastPollId: number,
): NewRecordOf<'rail_state'> {
  return { rail, lastPollId, state }
}

export function pollRecordOf(row: Omit<StoredPoll, 'id'>): PollRecord {
  return {
    polledAtMs: timeOf(row.rail, row.startedAt),
    durationMs: row.durationMs,
    outcome: row.outcome,
    error: row.error,
    figures: row.figures === null ? null : read(row.rail, storedMeasurement, row.figures).figures,
    status: read(row.rail, railStatus, row.statusAfter),
    rule: row.rule,
    bundle: row.bundle,
  }
}

export function pastPollsOf(rows: readonly StoredPoll[]): readonly PastPoll[] {
  return rows.flatMap(({ rail, figures, startedAt }) => {
    if (figures === null) return []
    const { counters } = read(rail, storedMeasurement, figures)
    return [{ polledAtMs: timeOf(rail, startedAt), counters }]
  })
}

function read<T>(rail: string, schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new StoredStateError(
    `the stored figures of ${rail} cannot be read (restore the database, or inspect and delete the row): ${z.prettifyError(parsed.error)}`,
  )
}

function timeOf(rail: string, text: string): number {
  const timeMs = parseTime(text)
  if (timeMs === null)
    throw new StoredStateError(`a stored time of ${rail} cannot be read: ${text}`)
  return timeMs
}
