import { join } from 'node:path'

import { acceptUnanswered, expireJobs } from '../../src/db/jobs/deadlines.ts'
import { expireSubscriptions } from '../../src/db/partners.ts'
import { lastRuns } from '../../src/db/runs.ts'
import type { JobName } from '../../src/db/runs.ts'
import { withTimeoutAwaited } from '../../src/outbound/timeout.ts'
import { createBuildRequestWatch } from '../../src/runtime/build-requests.ts'
import { exportIfDue } from '../export/export.ts'
import type { LedgerLog } from '../log/log.ts'
import { loadAuthored } from '../world/authored.ts'
import type { ReceiptRun } from '../world/receipt-run.ts'
import { checkAgents } from './agents.ts'
import { createBuildQueue } from './build-queue.ts'
import type { BuildQueueDeps } from './build-queue.ts'
import { checkPacts, pactsTimeoutMs } from './check-pacts.ts'
import { receiptsResult } from './check-receipts.ts'
import { deliveryResult } from './deliver.ts'
import type { Webhooks } from './deliver.ts'
import { readStandings } from './dispute-standings.ts'
import type { StandingDeps } from './dispute-standings.ts'
import type { PollDeps, PollReport } from './poll-rail.ts'
import { pollRound, roundSummary } from './poll.ts'
import type { RoundOptions } from './poll.ts'
import { runJob } from './run-job.ts'
import type { JobResult } from './run-job.ts'
import { makeStatements } from './statements.ts'
import { createTidy } from './tidy.ts'

export interface JobsDeps extends PollDeps, BuildQueueDeps, StandingDeps {
  readonly webhooks: Webhooks
  readonly ledgerLog: Pick<LedgerLog, 'grow'>
  readonly cosign: () => Promise<string | null>
  readonly receipts: () => Promise<ReceiptRun>
}

export type Jobs = ReturnType<typeof createJobs>

/** Functions that return a boolean return false when the run failed. */
export function createJobs(deps: JobsDeps) {
  const { buildOptions, signal } = deps
  const authored = async () => await loadAuthored(buildOptions.dataDir)
  const build = createBuildQueue(deps)
  let hasLogFailed = true
  const counted = (job: JobName, what: string, work: () => Promise<number>) => () =>
    runJob(job, deps, async () => {
      const count = await work()
      return { detail: `${count} ${what}`, quiet: count === 0 }
    })
  return {
    /** Polls the due rails, or all rails. Fails if at least two rails were polled and all of them failed. */
    poll: async (which: RoundOptions['which'], onReport?: (report: PollReport) => void) => {
      const { rails } = await authored()
      let isUnfinished = false
      const { adapters } = buildOptions
      const round = async () => {
        const options = { adapters, authored: rails, which, signal, onReport }
        const reports = await pollRound(deps, options)
        isUnfinished = reports.some(({ outcome }) => outcome === 'unfinished')
        return pollResult(reports)
      }
      const isGood = await runJob('poll', deps, round, which === 'all')
      return isUnfinished ? 'unfinished' : isGood
    },
    build,
    buildIfRequested: createBuildRequestWatch(deps.database, () => build('if changed')),
    /** A failing receiver does not fail the run. */
    deliver: () => runJob('webhooks', deps, async () => deliveryResult(await deps.webhooks.run())),
    /** Fails when no chain could be read. */
    checkReceipts: () =>
      runJob('receipts', deps, async () => receiptsResult(await deps.receipts()), true),
    checkPacts: () => {
      const chain = deps.sources.hasNode('arbitrum') ? deps.sources.chain : null
      const authoredPacts = async () => (await authored()).pacts
      const check = async (limited: AbortSignal) =>
        await checkPacts({ ...deps, chain, authored: authoredPacts, signal: limited })
      const limits = { timeoutMs: pactsTimeoutMs, signal }
      const work = async () => ({ detail: await withTimeoutAwaited(limits, check), quiet: false })
      return runJob('pacts', deps, work, true)
    },
    /** A restored database must reach the published log before it signs. The first success after a start or a failure is recorded. */
    log: () =>
      runJob('log', deps, async () => {
        const had = hasLogFailed
        hasLogFailed = true
        const result = await deps.ledgerLog.grow()
        hasLogFailed = result === 'resting'
        return hasLogFailed || (result === 'unchanged' && !had)
          ? null
          : { detail: null, quiet: !had }
      }),
    /** An unreachable witness does not fail the run. */
    cosign: () =>
      runJob('witnesses', deps, async () => {
        const detail = await deps.cosign()
        return detail === null ? null : { detail, quiet: true }
      }),
    /** Applies the deadlines of jobs, unanswered deliveries and subscriptions. */
    expire: () =>
      runJob('expire', deps, async () => {
        const { database, clock } = deps
        const nowMs = clock.now()
        const jobs = await expireJobs(database, nowMs)
        const { active: key } = await buildOptions.exchangeKeys()
        const siteUrl = buildOptions.site.url
        const accepted = await acceptUnanswered(database, { key, siteUrl, nowMs })
        const subscriptions = await database.write((tx) => expireSubscriptions(tx, nowMs))
        const hadFailed = (await lastRuns(database.reader)).get('expire')?.outcome === 'failed'
        const quiet = jobs + accepted + subscriptions === 0 && !hadFailed
        const detail = `${jobs} jobs expired, ${accepted} unanswered deliveries accepted, ${subscriptions} subscriptions expired`
        return { detail, quiet }
      }),
    export: () =>
      runJob('export', deps, async () => {
        const { publicKeys } = await buildOptions.keys()
        const { isDemo = false, stateDir } = buildOptions
        const at = { nowMs: deps.clock.now(), dir: join(stateDir, 'export') }
        const list = await exportIfDue({ ...buildOptions, ...at, publicKeys, isDemo, signal })
        if (list === null) return null
        return { detail: `${list.files.length} files exported`, quiet: false }
      }),
    standings: counted('disputes', 'standings read', async () =>
      readStandings(deps, (await authored()).rails),
    ),
    statements: counted('statements', 'income statements made', () =>
      makeStatements({ ...deps, isDemo: buildOptions.isDemo ?? false }),
    ),
    agents: counted('agents', 'agents read', () => checkAgents(deps)),
    tidy: createTidy(deps),
  }
}

function pollResult(reports: readonly PollReport[]): JobResult {
  const detail = roundSummary(reports)
  // If one rail fails, its source is at fault. If all rails fail, this installation is probably at fault.
  if (reports.length > 1 && reports.every(({ outcome }) => outcome === 'failed')) {
    throw new Error(detail)
  }
  return { detail, quiet: reports.length === 0 }
}
