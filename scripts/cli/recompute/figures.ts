/** Compares figures, status and flags with what the rules say about the reading. */
import { windowEndingAt } from '../../../builder/rails/window.ts'
import { railStatus } from '../../../src/contract/schemas/rail.ts'
import { prettySorted } from '../../../src/core/canonical-json.ts'
import type { Bundle } from '../../../src/core/evidence.ts'
import { figureNames, publicFigure, unknownFigures } from '../../../src/core/figures.ts'
import { railFlagKinds } from '../../../src/core/flags/index.ts'
import { decidePoll, flagsOf, stateFromAudit } from '../../../src/core/rail-poll.ts'
import type { RailState } from '../../../src/core/rail-poll.ts'
import type { Bundles } from './evidence.ts'
import { compareLookUps } from './look-ups.ts'
import type { Recomputation, Report } from './report.ts'

export function compareFigures(recomputation: Recomputation, reading: unknown): void {
  const { adapter, bundles, poll, report } = recomputation
  const [bundle] = bundles
  const { figures, removed, counters, status, undecidedSinceMs, flags, basis } = bundle
  const window = windowEndingAt(Date.parse(bundle.at))
  const { measurement } = adapter.recompute(reading, {}, window)
  const lookedUp = compareLookUps(recomputation, measurement)
  const found = adapter.recompute(reading, lookedUp, window)
  const facts = { displayName: '', basis, startedAtMs: window.endMs, durationMs: 0, pollEveryMs: 0 }
  const outcome = { kind: 'good', measurement: found.measurement } as const
  const decided = decidePoll(formerState(bundles, report), outcome, facts)
  const recomputed = decided.figures ?? unknownFigures
  const again = {
    figures: recomputed,
    removed: found.measurement.removed30d,
    counters: found.counters,
    status: decided.state.status,
    undecidedSinceMs: decided.state.undecidedSinceMs,
    flags: flagsOf(decided),
  }
  const published = { figures, removed, counters, status, undecidedSinceMs, flags }
  const lines = (value: object) => prettySorted(value).split('\n')
  report.compare('evidence', lines(published), lines(again))
  report.compare(
    'history',
    figureNames.map((name) => `${name}: ${poll[name]}`),
    figureNames.map((name) => `${name}: ${publicFigure(recomputed, name)}`),
  )
}

/** The state before the poll follows from the last successful poll before it; without one, the rail was never judged. */
function formerState([bundle, ...before]: Bundles, report: Report): RailState {
  const last = before.find(({ outcome }) => outcome === 'ok')
  const never = stateFromAudit({
    rail: bundle.rail,
    status: 'pre-traction',
    asOfMs: 0,
    figures: {},
  })
  if (last === undefined) {
    report.compare('former status', [text(bundle.former)], [text(null)])
    return never
  }
  const { status, undecidedSinceMs = bundle.former?.undecidedSinceMs ?? null } = last
  report.compare('former status', [text(bundle.former)], [text({ status, undecidedSinceMs })])
  return {
    ...never,
    status: railStatus.parse(status),
    undecidedSinceMs,
    figures: { ...unknownFigures, ...last.figures },
    figuresSource: 'poll',
    lastGoodPollAtMs: Date.parse(last.at),
  }
}

const text = (former: Bundle['former']): string =>
  former === null ? 'never judged' : `${former.status}, undecided since ${former.undecidedSinceMs}`

/** Compares what the newest poll says with the documents that readers see. */
export async function compareRail({ session, bundles, report }: Recomputation): Promise<void> {
  const { call } = session.reader()
  const { rail: name, status, basis, flags } = bundles[0]
  const rail = await call('getRail', { params: { name } })
  report.compare('rail', [rail.status, rail.status_basis], [status, basis])
  if (flags === undefined) return
  const { flags: listed } = await call('listHonestyFlags', {})
  // Those that the operator opened follow from no poll.
  const isOfPoll = ({ rail: of, kind, evidence }: (typeof listed)[number]) =>
    of === name && railFlagKinds.includes(kind) && evidence['opened_by'] === undefined
  const open = listed.filter(isOfPoll).map(({ kind }): string => kind)
  const raised = flags.raised.map(({ kind }) => kind)
  const kept = open.filter((kind) => !flags.cleared.includes(kind))
  report.compare('flags', open.toSorted(), [...new Set([...raised, ...kept])].toSorted())
}
