/** Every job of the builder, recorded in the table of runs. `schedule.ts` says when each of them runs. */
import { withTimeoutAwaited } from '../../src/outbound/timeout.ts'
import { loadAuthored } from '../world/authored.ts'
import { createBuildQueue } from './build-queue.ts'
import type { BuildQueueDeps } from './build-queue.ts'
import { checkPacts, pactsTimeoutMs } from './check-pacts.ts'
import { receiptsResult } from './check-receipts.ts'
import type { ReceiptChecks } from './check-receipts.ts'
import { deliveryResult } from './deliver.ts'
import type { Webhooks } from './deliver.ts'
import { expire } from './expire.ts'
import type { PollDeps, PollReport } from './poll-rail.ts'
import { pollRound, roundSummary } from './poll.ts'
import type { RoundOptions } from './poll.ts'
import { runJob } from './run-job.ts'
import type { JobResult } from './run-job.ts'
import { createTidy } from './tidy.ts'

export interface JobsDeps extends PollDeps, BuildQueueDeps {
  readonly webhooks: Webhooks
  /** Whether the operator has set an Arbitrum node. */
  readonly hasArbitrumNode: boolean
  readonly receipts: ReceiptChecks
}

/** Each function that returns a boolean returns false when its run failed. */
export interface Jobs {
  /** Polls the rails that are due, or all. Fails when every rail of a round of two or more failed. */
  readonly poll: (
    which: RoundOptions['which'],
    onReport?: (report: PollReport) => void,
  ) => Promise<boolean>
  readonly build: ReturnType<typeof createBuildQueue>
  /** Delivers the webhooks that are due. A receiver that fails is not a failure of the run. */
  readonly deliver: () => Promise<boolean>
  /** Verifies receipts that are due on their chains. Fails when no chain could be read. */
  readonly checkReceipts: () => Promise<boolean>
  /** Reads the escrow of pacts and updates the flags of pacts whose sources disagree. */
  readonly checkPacts: () => Promise<boolean>
  /** Expires jobs and subscriptions, and accepts deliveries that were not answered in time. */
  readonly expire: () => Promise<boolean>
  /** Deletes what has expired, such as used messages that are no longer valid anyway. Not recorded. */
  readonly tidy: () => Promise<void>
}

export function createJobs(deps: JobsDeps): Jobs {
  const { buildOptions, signal } = deps
  const authored = async () => await loadAuthored(buildOptions.dataDir)
  const announced = { announce: true } as const
  return {
    poll: async (which, onReport) => {
      const { rails } = await authored()
      return await runJob('poll', deps, { announce: which === 'all' }, async () => {
        const { adapters } = buildOptions
        const options = { adapters, authored: rails, which, signal }
        const progress = onReport === undefined ? {} : { onReport }
        return pollResult(await pollRound(deps, { ...options, ...progress }))
      })
    },
    build: createBuildQueue(deps),
    deliver: () =>
      runJob('webhooks', deps, {}, async () => deliveryResult(await deps.webhooks.run())),
    checkReceipts: () =>
      runJob('receipts', deps, announced, async () => receiptsResult(await deps.receipts.run())),
    checkPacts: () =>
      runJob('pacts', deps, announced, async () => {
        const { database, clock, random, hasArbitrumNode, sources } = deps
        const detail = await withTimeoutAwaited({ timeoutMs: pactsTimeoutMs, signal }, (limited) =>
          checkPacts({
            database,
            clock,
            random,
            chain: hasArbitrumNode ? sources.chain : null,
            authored: async () => (await authored()).pacts,
            signal: limited,
          }),
        )
        return { detail, quiet: false }
      }),
    expire: () => runJob('expire', deps, {}, () => expire(deps)),
    tidy: createTidy(deps),
  }
}

function pollResult(reports: readonly PollReport[]): JobResult {
  const detail = roundSummary(reports)
  // One failing rail is that rail's matter; all of them failing means that the ledger itself cannot read.
  if (reports.length > 1 && reports.every(({ outcome }) => outcome === 'failed')) {
    throw new Error(detail)
  }
  return { detail, quiet: reports.length === 0 }
}
