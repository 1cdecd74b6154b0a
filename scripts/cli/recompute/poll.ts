import { railAdapters } from '../../../builder/rails/index.ts'
import { windowEndingAt } from '../../../builder/rails/window.ts'
import { version } from '../../../src/contract/version.ts'
import { evidencePath, isLogInput } from '../../../src/core/evidence.ts'
import type { Bundle } from '../../../src/core/evidence.ts'
import { dayMs, isoTime } from '../../../src/core/time.ts'
import { UsageError } from '../input.ts'
import type { Input } from '../input.ts'
import { entryInLog } from '../log.ts'
import { printChecks } from '../output.ts'
import type { Session } from '../session.ts'
import { compareWithChain } from './chain.ts'
import { createEvidenceReader, publishedLookUps } from './evidence.ts'
import type { Bundles, PublishedPoll } from './evidence.ts'
import { compareFigures, compareRail } from './figures.ts'
import { replay } from './replay.ts'
import { createReport, programOf } from './report.ts'
import type { Recomputation, Report } from './report.ts'

/** The oldest poll whose counters or lines a figure of 30 days needs. */
const walkMs = 31 * dayMs

export async function recomputePoll(session: Session, input: Input): Promise<number> {
  const [rail, at, rpc] = [input.required('rail'), input.text('at'), input.text('rpc')]
  const { call } = session.reader()
  const report = createReport(input.flag('allow-unchecked'))
  const { polls } = await call('getRailHistory', { params: { name: rail } })
  const poll = polls.find((one) => (at === undefined ? one.outcome === 'ok' : one.polled_at === at))
  const digest = digestIn(poll)
  const adapter = railAdapters.find((one) => one.rail === rail)
  if (adapter === undefined)
    throw new UsageError(`this program has no adapter for ${rail}, so it cannot recompute a poll`)
  if (poll === undefined || digest === null)
    throw new UsageError(`${rail} has no such poll with evidence`)
  const evidence = createEvidenceReader(call)
  const bundle = await evidence.bundle(digest)
  comparePoll(bundle, { ...poll, rail }, report)
  const here = { rule: `${adapter.rule.name} v${adapter.rule.version}`, code: { version }, v: 2 }
  if (poll.outcome !== 'ok')
    report.check('evidence', false, 'nothing was checked, since the poll failed')
  else if (bundle.buckets === null)
    report.check('evidence', false, 'the poll has figures but no evidence for them')
  else if (programOf({ ...bundle, ...here }) !== programOf(bundle))
    report.open('program', `the poll had ${programOf(bundle)}`)
  else
    await report.attempt('evidence', async () => {
      const needsPast = adapter.chains.length > 0 || adapter.hasCounters
      const sinceMs = needsPast ? Date.parse(bundle.at) - walkMs : Infinity
      const bundles: Bundles = [bundle, ...(await evidence.bundlesBefore(bundle, sinceMs))]
      compareOrder(bundles, polls, report)
      const reading = await evidence.value(bundle.buckets)
      const lookUps = await publishedLookUps(bundles, evidence)
      const recomputation = { adapter, poll, bundles, evidence, report, session, lookUps }
      await replay(recomputation, reading)
      compareFigures(recomputation, reading)
      if (poll === polls[0]) await compareRail(recomputation)
      await compareInputs(recomputation, { rpc, all: input.flag('all') })
    })
  if (input.flag('log')) {
    const proof = `${evidencePath(digest)}.tlog-proof`
    const expected = { kind: 'poll', sha256: digest } as const
    const missing = `the log has no poll with the evidence ${digest}`
    report.findings.push(...(await entryInLog(session, input, proof, expected, missing)))
  }
  const subject = { rail, polled_at: poll.polled_at, evidence: digest }
  return printChecks(session, subject, report.findings)
}

function digestIn(poll: PublishedPoll | undefined): string | null {
  return /[0-9a-f]{64}/.exec(poll?.evidence_uri ?? '')?.[0] ?? null
}

function comparePoll(
  { rail, at, outcome, window }: Bundle,
  poll: PublishedPoll & { readonly rail: string },
  report: Report,
): void {
  const { start30dMs, endMs } = windowEndingAt(Date.parse(poll.polled_at))
  const expected = [poll.rail, poll.polled_at, poll.outcome, isoTime(start30dMs), isoTime(endMs)]
  report.compare('poll', [rail, at, outcome, window.from, window.to], expected)
}

/** Each bundle names that of the poll before in the history, which is shorter than the evidence. */
function compareOrder(bundles: Bundles, polls: readonly PublishedPoll[], report: Report): void {
  const first = polls.findIndex(({ polled_at }) => polled_at === bundles[0].at)
  for (const [place, { rail, at, previous }] of bundles.entries()) {
    const [row, before] = polls.slice(first + place, first + place + 2)
    const isOfRow = rail === bundles[0].rail && (row === undefined || row.polled_at === at)
    if (isOfRow && (before === undefined || digestIn(before) === previous)) continue
    const expected = before === undefined ? row?.polled_at : digestIn(before)
    report.check('previous', false, `the poll at ${at} names ${previous}, expected ${expected}`)
    return
  }
}

/** Says of each input whether it was compared with its source. */
async function compareInputs(
  recomputation: Recomputation,
  { rpc, all }: { readonly rpc: string | undefined; readonly all: boolean },
): Promise<void> {
  const { adapter, bundles, report } = recomputation
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
    report.open(
      'chain',
      'the lines, prices and tests of wallets are not compared with the chain: use --rpc',
    )
  else await compareWithChain(recomputation, { rpc, all })
}
