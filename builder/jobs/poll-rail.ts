import { recordOf } from '../../src/core/entries.ts'
import { figureNames, impossibleFigures, publicFigure } from '../../src/core/figures.ts'
import { newId } from '../../src/core/new-id.ts'
import { decidePoll, flagsOf } from '../../src/core/rail-poll.ts'
import type { PollDecision, PollOutcome } from '../../src/core/rail-poll.ts'
import { redact } from '../../src/core/redact.ts'
import { dayMs, isoTime, minuteMs, secondMs } from '../../src/core/time.ts'
import { appendEvent } from '../../src/db/events.ts'
import { closeFlagWithEvent, openFlagWithEvent } from '../../src/db/flags.ts'
import { queueEntries } from '../../src/db/log.ts'
import { historyOf } from '../../src/db/polls.ts'
import { findRecord, insertNumbered, putRecord } from '../../src/db/records.ts'
import { TimeoutError, withTimeoutAwaited } from '../../src/outbound/timeout.ts'
import { pollHash, pollView } from '../documents/history.ts'
import { UnfinishedRead } from '../rails/adapter.ts'
import type { AnyRailAdapter, AdapterContext } from '../rails/adapter.ts'
import { collectEvidence } from '../rails/evidence.ts'
import type { EvidenceCollector } from '../rails/evidence.ts'
import { createPayoutStore } from '../rails/payout-store.ts'
import type { Sources } from '../rails/sources.ts'
import { windowEndingAt } from '../rails/window.ts'
import type { Window } from '../rails/window.ts'
import type { AuthoredRail } from '../world/authored-rails.ts'
import { pastPollsOf, pollRecordOf, stateOf, toStateRow, toStored } from '../world/stored-rails.ts'
import { backfillProgress } from './backfill-progress.ts'
import type { RailBackfill } from './backfill-progress.ts'
import type { BuilderDeps } from './run-job.ts'

export interface PollDeps extends Pick<
  BuilderDeps,
  'database' | 'clock' | 'random' | 'fetch' | 'log'
> {
  readonly sources: Sources
  readonly pollEveryMs: number
  /** Called whenever the percentage grows. */
  readonly onBackfill?: (progress: RailBackfill) => void
}

export type PollReport =
  | {
      readonly rail: string
      readonly outcome: 'ok' | 'failed'
      readonly durationMs: number
      readonly error: string | null
      readonly status: string
      readonly transition: PollDecision['transition']
    }
  | { readonly rail: string; readonly outcome: 'unfinished'; readonly durationMs: number }

/** A longer read is interrupted for other rails, and continues at its next poll. */
const turnMs = 5 * minuteMs
/** Results stored before the timeout remain, and the next poll continues. */
const pollTimeoutMs = 15 * minuteMs
/** Maximum age of the counters passed to an adapter. */
const pastMs = 40 * dayMs

/** The promise rejects only if the result cannot be stored. */
export async function pollRail(
  adapter: AnyRailAdapter,
  authored: AuthoredRail,
  deps: PollDeps,
  signal: AbortSignal,
): Promise<PollReport> {
  const startedAtMs = deps.clock.now()
  const startedMonotonic = deps.clock.monotonic()
  const evidence = collectEvidence(adapter.rail, windowEndingAt(startedAtMs))
  const begun = { ...deps, evidence }
  const { outcome, counters } = await measure(adapter, begun, startedAtMs, signal)
  const durationMs = Math.round(deps.clock.monotonic() - startedMonotonic)
  const { rail } = adapter
  if (outcome.kind === 'unfinished') return { rail, outcome: 'unfinished', durationMs }
  const facts = {
    displayName: authored.display_name,
    basis: authored.status_basis,
    startedAtMs,
    durationMs,
    pollEveryMs: deps.pollEveryMs,
  }
  const decision = await record(adapter, authored, begun, outcome, counters, facts)
  return {
    rail,
    outcome: outcome.kind === 'good' ? 'ok' : 'failed',
    durationMs,
    error: outcome.kind === 'good' ? null : outcome.error,
    status: decision.state.status,
    transition: decision.transition,
  }
}

type BegunPoll = PollDeps & { readonly evidence: EvidenceCollector }

async function measure(
  adapter: AnyRailAdapter,
  deps: BegunPoll,
  startedAtMs: number,
  signal: AbortSignal,
): Promise<{
  /** An unfinished read continues at the next poll; only a completed poll is recorded. */
  readonly outcome: PollOutcome | { readonly kind: 'unfinished' }
  readonly counters: Readonly<Record<string, number>>
}> {
  const limit = { timeoutMs: pollTimeoutMs, signal }
  try {
    const { measurement, counters } = await withTimeoutAwaited(limit, async (limited) => {
      const ctx = await contextOf(adapter, deps, windowEndingAt(startedAtMs), limited)
      return await adapter.measure(ctx)
    })
    const impossible = impossibleFigures(measurement.figures)
    if (impossible.length > 0) {
      const error = redact(`impossible figures: ${impossible.join('; ')}`)
      return { outcome: { kind: 'failed', error, impossible }, counters: {} }
    }
    return { outcome: { kind: 'good', measurement }, counters }
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof UnfinishedRead) {
      deps.log.info(`reading ${adapter.rail} continues at its next poll`, {
        reason: error.message,
      })
      return { outcome: { kind: 'unfinished' }, counters: {} }
    }
    return { outcome: { kind: 'failed', error: reasonOf(error), impossible: [] }, counters: {} }
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof TimeoutError)
    return `not finished within ${pollTimeoutMs / secondMs} s; the next poll continues`
  return redact(error instanceof Error ? error.message : String(error))
}

async function contextOf(
  adapter: AnyRailAdapter,
  deps: BegunPoll,
  window: Window,
  signal: AbortSignal,
): Promise<AdapterContext> {
  const { database, sources, clock, evidence } = deps
  const turnEndMs = clock.monotonic() + turnMs
  const from = isoTime(window.endMs - pastMs)
  const past = pastPollsOf(await historyOf(database.reader, adapter.rail, { from }))
  return {
    window,
    http: evidence.watch(sources.http(adapter.rail, signal)),
    chain: (name) => sources.chain(name, signal),
    hasNode: sources.hasNode,
    solana: () => sources.solana(signal),
    payouts: createPayoutStore(adapter.rail, database),
    past,
    backfill: await backfillProgress(adapter.rail, deps),
    evidence,
    isTurnOver: () => clock.monotonic() >= turnEndMs,
    signal,
  }
}

async function record(
  adapter: AnyRailAdapter,
  authored: AuthoredRail,
  { database, random, evidence }: BegunPoll,
  outcome: PollOutcome,
  counters: Readonly<Record<string, number>>,
  facts: Parameters<typeof decidePoll>[2],
): Promise<PollDecision> {
  const { rail, rule } = adapter
  const at = isoTime(facts.startedAtMs)
  return await database.write(async (tx) => {
    const stored = await findRecord(tx, 'rail_state', { rail })
    const former = stateOf(authored, stored ?? undefined)
    const decision = decidePoll(former, outcome, facts)
    const { state, figures, transition, raised, cleared } = decision
    const good = outcome.kind === 'good' ? outcome.measurement : null
    const result = good === null ? 'failed' : 'ok'
    const { status, undecidedSinceMs, figuresSource } = former
    const bundle = await evidence.save(tx, {
      at,
      outcome: result,
      error: state.lastError,
      rule: `${rule.name} v${rule.version}`,
      figures,
      removed: good?.removed30d ?? {},
      counters,
      basis: facts.basis,
      former: figuresSource === 'audit' ? null : { status, undecidedSinceMs },
      status: state.status,
      undecidedSinceMs: state.undecidedSinceMs,
      flags: flagsOf(decision),
    })
    const poll = {
      rail,
      startedAt: at,
      durationMs: facts.durationMs,
      outcome: result,
      error: state.lastError,
      figures: figures === null ? null : toStored({ ...state, figures }, counters),
      evidence: { pointers: [...(good?.evidence ?? [])] },
      rule: `${rule.name} v${rule.version}`,
      statusAfter: state.status,
      bundle,
    } as const
    const pollId = await insertNumbered(tx, 'polls', poll, 'id')
    await putRecord(tx, 'rail_state', toStateRow(state, pollId), 'rail')
    const entry = { id: bundle, subject: rail } as const
    await queueEntries(tx, [
      { ...entry, kind: 'poll', sha256: bundle, extra: { outcome: result } },
      { ...entry, kind: 'history', sha256: pollHash(rail, pollView(pollRecordOf(poll))) },
    ])
    if (transition !== null) {
      await appendEvent(tx, {
        id: newId(random, 'evt', 9),
        kind: 'rail_transition',
        rail,
        severity: transition.to === 'paying' ? 'info' : 'warning',
        title: `${authored.display_name}: ${transition.from} → ${transition.to}`,
        data: {
          ...transition,
          figures: recordOf(figureNames, (name) => publicFigure(state.figures, name)),
          status_reasons: state.statusReasons,
        },
        createdAt: at,
      })
    }
    for (const { kind, finding } of raised) {
      await openFlagWithEvent(tx, random, { kind, rail, subject: '', openedAt: at, ...finding })
    }
    for (const kind of cleared) {
      await closeFlagWithEvent(tx, random, { kind, rail, subject: '' }, at, 'no longer applies')
    }
    return decision
  })
}
