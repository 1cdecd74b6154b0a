import { z } from 'zod'

import type { AnyRailAdapter } from '../../builder/rails/adapter.ts'
import { railAdapters } from '../../builder/rails/index.ts'
import { windowEndingAt } from '../../builder/rails/window.ts'
import { railStatus } from '../../src/contract/schemas/rail.ts'
import type { railHistory } from '../../src/contract/schemas/rail.ts'
import { version } from '../../src/contract/version.ts'
import { prettySorted } from '../../src/core/canonical-json.ts'
import { isLogInput } from '../../src/core/evidence.ts'
import type { Bundle } from '../../src/core/evidence.ts'
import {
  figureNames,
  publicFigure,
  unknownFigures,
  unknownWorkerIncome,
} from '../../src/core/figures.ts'
import { railFlagKinds } from '../../src/core/flags/index.ts'
import { decidePoll, flagsOf, stateFromAudit } from '../../src/core/rail-poll.ts'
import type { RailState } from '../../src/core/rail-poll.ts'
import { dayMs, isoTime } from '../../src/core/time.ts'
import { flag, operand, option } from './command.ts'
import type { Command } from './command.ts'
import { UsageError } from './input.ts'
import { pollInLog } from './log.ts'
import { printChecks } from './output.ts'
import { compareWithChain } from './recompute/chain.ts'
import { createEvidenceReader } from './recompute/evidence.ts'
import type { Bundles, EvidenceReader } from './recompute/evidence.ts'
import { replay } from './recompute/replay.ts'
import { createReport } from './recompute/report.ts'
import type { Report } from './recompute/report.ts'
import type { Session } from './session.ts'

type PublishedPoll = z.infer<typeof railHistory>['polls'][number]

/** The oldest poll whose counters or lines a figure of 30 days needs. */
const walkMs = 31 * dayMs

export const recompute: Command = {
  words: 'recompute',
  summary: 'Recompute the figures of a poll from its evidence',
  description:
    'Downloads the evidence of all polls of the window, checks every SHA-256, and runs the adapter, the status rules and the\nflag rules over it. Prints the first line that differs. With --rpc, also reads some of the logs again from that node.',
  args: {
    rail: operand('slug of the rail'),
    at: option('time', '`polled_at` of the poll (default: the newest successful poll)'),
    site: option('url', 'the same as --ledger'),
    rpc: option('url', 'node of the chain of this rail'),
    all: flag('read all logs again, not a random sample'),
    'allow-unchecked': flag('succeed although something cannot be checked'),
    log: flag('also check that the log contains the poll with this evidence'),
  },
  groups: ['ledger', 'log'],
  run: async (session, input) => {
    const [rail, at, rpc] = [input.required('rail'), input.text('at'), input.text('rpc')]
    const { call } = session.reader()
    const report = createReport(input.flag('allow-unchecked'))
    const { polls } = await call('getRailHistory', { params: { name: rail } })
    const poll = polls.find((one) =>
      at === undefined ? one.outcome === 'ok' : one.polled_at === at,
    )
    const digest = digestIn(poll)
    const adapter = railAdapters.find((one) => one.rail === rail)
    if (adapter === undefined || poll === undefined || digest === null)
      throw new UsageError(`${rail} has no such poll with evidence`)
    const evidence = createEvidenceReader(call)
    const bundle = await evidence.bundle(digest)
    const before = polls
      .slice(polls.indexOf(poll) + 1)
      .find((one) => one.evidence_uri !== undefined)
    comparePoll(adapter, bundle, poll, digestIn(before), report)
    if (poll.outcome !== 'ok' || bundle.buckets === null) {
      const reason =
        poll.outcome === 'ok'
          ? 'the poll has figures but no evidence for them'
          : 'nothing was checked, since the poll failed'
      report.check('evidence', false, '', reason)
    } else {
      const needsPast = adapter.chains.length > 0 || adapter.hasCounters
      const sinceMs = needsPast ? Date.parse(bundle.at) - walkMs : Infinity
      const bundles: Bundles = [bundle, ...(await evidence.bundlesBefore(bundle, sinceMs))]
      const reading = await evidence.value(bundle.buckets)
      await replay({ adapter, bundles, evidence, report }, reading)
      await compareFigures(adapter, bundles, reading, { poll, evidence, report })
      if (poll === polls.find(({ outcome }) => outcome === 'ok'))
        await compareRail(session, rail, bundle, report)
      await compareInputs(
        adapter,
        bundles,
        { rpc, all: input.flag('all') },
        { session, evidence, report },
      )
    }
    for (const one of input.flag('log') ? await pollInLog(session, input, digest) : [])
      report.add(one)
    return printChecks(
      session,
      { rail, polled_at: poll.polled_at, evidence: digest },
      report.findings,
    )
  },
}

function digestIn(poll: PublishedPoll | undefined): string | null {
  return /[0-9a-f]{64}/.exec(poll?.evidence_uri ?? '')?.[0] ?? null
}

function comparePoll(
  adapter: AnyRailAdapter,
  { rail, at, outcome, window, rule, code, previous }: Bundle,
  poll: PublishedPoll,
  /** Null if the history contains no earlier one; it has a limited length. */
  before: string | null,
  report: Report,
): void {
  const { start30dMs, endMs } = windowEndingAt(Date.parse(poll.polled_at))
  report.compare(
    'poll',
    [rail, at, outcome, window.from, window.to, String(previous)],
    [
      adapter.rail,
      poll.polled_at,
      poll.outcome,
      isoTime(start30dMs),
      isoTime(endMs),
      String(before ?? previous),
    ],
  )
  const here = `rule ${adapter.rule.name} v${adapter.rule.version}, program ${version}`
  const there = `rule ${rule}, program ${code.version}`
  if (here !== there) report.open('program', `the poll had ${there}; this command has ${here}`)
}

async function compareFigures(
  adapter: AnyRailAdapter,
  bundles: Bundles,
  reading: unknown,
  {
    poll,
    evidence,
    report,
  }: {
    readonly poll: PublishedPoll
    readonly evidence: EvidenceReader
    readonly report: Report
  },
): Promise<void> {
  const [bundle] = bundles
  const { figures, removed, counters, status, undecidedSinceMs, flags, lists, basis } = bundle
  const window = windowEndingAt(Date.parse(bundle.at))
  const lookedUp = z.looseObject({}).parse((await evidence.value(lists['looked_up'])) ?? {})
  const found = adapter.recompute(reading, lookedUp, window)
  if (found.measurement.facts?.lookedUp)
    report.open('look-ups', 'taken as published: funders and collectors have no lines')
  const facts = { displayName: '', basis, startedAtMs: window.endMs, durationMs: 0, pollEveryMs: 0 }
  const outcome = { kind: 'good', measurement: found.measurement } as const
  const decided = decidePoll(formerState(bundles, report), outcome, facts)
  const isOlder = figures?.['workerPerDayMedianMicroUsdc'] === undefined
  const recomputed = {
    ...(decided.figures ?? unknownFigures),
    ...(isOlder ? unknownWorkerIncome : {}),
  }
  const again = {
    figures: recomputed,
    removed: found.measurement.removed30d,
    counters: found.counters,
    status: decided.state.status,
    ...(flags === undefined
      ? {}
      : { undecidedSinceMs: decided.state.undecidedSinceMs, flags: flagsOf(decided) }),
  }
  const published = { figures: { ...unknownWorkerIncome, ...figures }, removed, counters, status }
  const lines = (value: object) => prettySorted(value).split('\n')
  report.compare(
    'evidence',
    lines({ ...published, ...(flags === undefined ? {} : { undecidedSinceMs, flags }) }),
    lines(again),
  )
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
async function compareRail(
  { reader }: Pick<Session, 'reader'>,
  name: string,
  { status, basis, flags }: Bundle,
  report: Report,
): Promise<void> {
  const { call } = reader()
  const rail = await call('getRail', { params: { name } })
  report.compare('rail', [rail.status, rail.status_basis], [status, basis])
  if (flags === undefined) return
  const { flags: listed } = await call('listHonestyFlags', {})
  const open = listed
    .filter(({ rail: of, kind }) => of === name && railFlagKinds.includes(kind))
    .map(({ kind }): string => kind)
  const raised = flags.raised.map(({ kind }) => kind)
  const kept = open.filter((kind) => !flags.cleared.includes(kind))
  report.compare('flags', open.toSorted(), [...new Set([...raised, ...kept])].toSorted())
}

/** Says of each input whether it was compared with its source. */
async function compareInputs(
  adapter: AnyRailAdapter,
  bundles: Bundles,
  { rpc, all }: { readonly rpc: string | undefined; readonly all: boolean },
  deps: Parameters<typeof compareWithChain>[3],
): Promise<void> {
  const { report } = deps
  const { inputs } = bundles[0]
  const answers = inputs.flatMap((one) => (isLogInput(one) ? [] : one.read_from))
  if (answers.length > 0) {
    const hosts = [...new Set(answers)].join(', ')
    report.note('answers', `${answers.length} of ${hosts}: nobody can check what it answered then`)
  }
  if (adapter.chains.length === 0) return
  if (adapter.chains.includes('solana'))
    report.open('chain', 'the lines are not compared with the chain: Solana is not read again')
  else if (rpc === undefined)
    report.open('chain', 'the lines and prices are not compared with the chain: use --rpc')
  else await compareWithChain(adapter, bundles, { rpc, all }, deps)
}
