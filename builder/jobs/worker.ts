/** The builder between its jobs: one poll and one build at a time, and no build where nothing changed. */
import type { Kysely } from 'kysely'

import { redact } from '../../src/core/redact.ts'
import { dayMs, isoTime, minuteMs } from '../../src/core/time.ts'
import { changeToken } from '../../src/db/change-token.ts'
import { dropExpiredAnswers } from '../../src/db/guard.ts'
import { acceptUnanswered } from '../../src/db/jobs/acceptance.ts'
import { expireJobs } from '../../src/db/jobs/deadlines.ts'
import { expireSubscriptions } from '../../src/db/partners/subscription.ts'
import { dropRunsBefore, lastRuns } from '../../src/db/runs.ts'
import type { Database } from '../../src/db/schema.ts'
import { dropNetworkWrites } from '../../src/db/write-quotas.ts'
import { withTimeoutAwaited } from '../../src/outbound/timeout.ts'
import type { Keys } from '../publish/keys.ts'
import { loadAuthored } from '../world/authored.ts'
import { emptyBuildMemory } from './build-memory.ts'
import { build, buildSummary } from './build.ts'
import type { BuildOptions } from './build.ts'
import { checkPacts } from './check-pacts.ts'
import { receiptsSummary } from './check-receipts.ts'
import type { ReceiptChecks } from './check-receipts.ts'
import { webhooksSummary } from './deliver.ts'
import type { Webhooks } from './deliver.ts'
import { createTimeLowWatermark } from './low-watermark.ts'
import type { PollDeps, PollReport } from './poll-rail.ts'
import { pollRound, roundSummary } from './poll.ts'
import type { RoundOptions } from './poll.ts'
import { runJob } from './run-job.ts'
import type { JobDeps } from './run-job.ts'

export interface WorkerDeps extends PollDeps, Pick<JobDeps, 'onRun'> {
  readonly buildOptions: Omit<
    BuildOptions,
    'nowMs' | 'repository' | 'memory' | 'keys' | 'onPublished'
  > & {
    /** Read anew for every build, since they may have been rotated. */
    readonly keys: () => Promise<Keys>
    readonly repository: Omit<BuildOptions['repository'], 'check'>
  }
  readonly webhooks: Webhooks
  /** Whether the operator has set a node of arbitrum. */
  readonly hasArbitrumNode: boolean
  readonly receipts: ReceiptChecks
  readonly signal: AbortSignal
  /** Told when a set is there to be read. */
  readonly onPublished: () => void
}

export interface BuilderWorker {
  /** Polls the rails that are due, or all. False where the round itself failed, or every rail of it. */
  readonly poll: (
    which: RoundOptions['which'],
    onReport?: (report: PollReport) => void,
  ) => Promise<boolean>
  /** Builds. `if changed`: only where something was written since the last build, or ten minutes have passed. */
  readonly build: (when: 'now' | 'if changed') => Promise<boolean>
  /** Delivers what is due. False where the round itself failed; a receiver that fails is no failure of ours. */
  readonly deliver: () => Promise<boolean>
  /** Asks the chains about receipts that are due. False where no chain that was asked could be read. */
  readonly checkReceipts: () => Promise<boolean>
  /** Reads the escrow of pacts and looks at what its sources say. False where that failed. */
  readonly pacts: () => Promise<boolean>
  /** Writes down what time has decided: jobs past their deadline, deliveries nobody answered, subscriptions that ran out. */
  readonly expire: () => Promise<boolean>
  /** Drops what has expired, such as messages that could not be used again anyway. */
  readonly tidy: () => Promise<void>
}

/** Ages, stale marks, windows of views and weekly articles change with time alone. */
const rebuildEveryMs = 10 * minuteMs
/**
 * Once a day all is derived, rendered and hashed anew, and every published file and every object of the snapshot
 * repository is read back.
 */
const fullCheckEveryMs = dayMs
const runsKeptMs = 90 * dayMs
const tidyBatch = 1000
/** A run reads so many blocks at most; one that takes longer all the same keeps nothing, and the next one begins anew. */
const pactsTimeoutMs = 15 * minuteMs
/** Documents are to follow a write within two seconds, however busy the ledger is. */
const maxRestMs = 500

export function createWorker(deps: WorkerDeps): BuilderWorker {
  const { database, clock, buildOptions, signal } = deps
  let memory = emptyBuildMemory(buildOptions)
  const settledTime = createTimeLowWatermark(clock)
  let builtToken: string | null = null
  let builtAtMs = Number.NEGATIVE_INFINITY
  let builtEndMs = Number.NEGATIVE_INFINITY
  let checkedAtMs = Number.NEGATIVE_INFINITY
  let queue: Promise<boolean> = Promise.resolve(true)

  async function poll(
    which: RoundOptions['which'],
    onReport?: (report: PollReport) => void,
  ): Promise<boolean> {
    const { rails: authored } = await loadAuthored(buildOptions.dataDir)
    return await runJob('poll', deps, which === 'all', async () => {
      const { adapters } = buildOptions
      const reports = await pollRound(deps, {
        adapters,
        authored,
        which,
        signal,
        ...(onReport === undefined ? {} : { onReport }),
      })
      const detail = roundSummary(reports)
      // One rail that fails is its own matter; all of them failing says that it is the ledger that cannot read.
      const isOut = reports.length > 1 && reports.every(({ outcome }) => outcome === 'failed')
      if (isOut) throw new Error(detail)
      return { detail, quiet: reports.length === 0 }
    })
  }

  async function pacts(): Promise<boolean> {
    return await runJob('pacts', deps, true, async () => {
      const detail = await withTimeoutAwaited({ timeoutMs: pactsTimeoutMs, signal }, (limited) =>
        checkPacts({
          database,
          clock,
          random: deps.random,
          chain: deps.hasArbitrumNode ? deps.sources.chain : null,
          authored: async () => (await loadAuthored(buildOptions.dataDir)).pacts,
          signal: limited,
        }),
      )
      return { detail, quiet: false }
    })
  }

  async function expire(): Promise<boolean> {
    return await runJob('expire', deps, false, async () => {
      const nowMs = clock.now()
      const jobs = await expireJobs(database, nowMs)
      const { active: key } = await buildOptions.exchangeKeys()
      const { url: siteUrl } = buildOptions.site
      const accepted = await acceptUnanswered(database, { key, siteUrl, nowMs })
      const subscriptions = await database.write((tx) => expireSubscriptions(tx, nowMs))
      const wasWell = (await lastRuns(database.reader)).get('expire')?.outcome !== 'failed'
      return {
        detail: `${jobs} jobs expired, ${accepted} deliveries accepted unanswered, ${subscriptions} subscriptions ran out`,
        quiet: jobs + accepted + subscriptions === 0 && wasWell,
      }
    })
  }

  /** A key that cannot be read is the failure of the build that needs it. */
  async function signingKid(): Promise<string> {
    return await buildOptions.keys().then(
      ({ signer }) => signer.kid,
      () => 'unreadable',
    )
  }

  async function buildNow(when: 'now' | 'if changed'): Promise<boolean> {
    const token = `${await changeToken(database.reader)} ${await signingKid()}`
    const monotonicMs = clock.monotonic()
    const isFresh = token === builtToken && monotonicMs - builtAtMs < rebuildEveryMs
    if (when === 'if changed' && isFresh) return true
    const check = monotonicMs - checkedAtMs >= fullCheckEveryMs ? 'full' : 'quick'
    if (check === 'full') memory = emptyBuildMemory(buildOptions)
    const nowMs = clock.now()
    const went = await runJob('build', deps, false, async () => {
      const repository = { ...buildOptions.repository, check } as const
      const { onPublished } = deps
      const keys = await buildOptions.keys()
      const built = await build({ ...buildOptions, keys, repository, nowMs, memory, onPublished })
      const detail = buildSummary(built)
      // A build that went well is also the end of a failure, or the first that anyone hears of builds.
      const wasWell = (await lastRuns(database.reader)).get('build')?.outcome === 'ok'
      return { detail, quiet: detail === null && wasWell }
    })
    builtAtMs = monotonicMs
    builtEndMs = clock.monotonic()
    builtToken = went ? token : null
    if (went && check === 'full') {
      checkedAtMs = monotonicMs
      await database.write((tx) => dropRunsBefore(tx, isoTime(nowMs - runsKeptMs)))
    }
    return went
  }

  /** The build that waits for the one that runs; whoever asks meanwhile is served by it. */
  let waiting: Promise<boolean> | null = null

  /** Under a stream of writes a short build rests for as long as the last one took: it gets half of a core, not all. */
  async function rest(): Promise<void> {
    const restMs = Math.min(maxRestMs, builtEndMs - builtAtMs) - (clock.monotonic() - builtEndMs)
    if (restMs > 0) await clock.sleep(restMs, signal).catch(() => undefined)
  }

  /** In small transactions: the service writes to the same file. */
  async function dropAll(drop: (tx: Kysely<Database>) => Promise<number>): Promise<void> {
    while (!signal.aborted) {
      if ((await database.write(drop)) < tidyBatch) return
    }
  }

  async function deliver(): Promise<boolean> {
    return await runJob('webhooks', deps, false, async () => {
      const detail = webhooksSummary(await deps.webhooks.run())
      return { detail, quiet: detail === null }
    })
  }

  async function checkReceipts(): Promise<boolean> {
    return await runJob('receipts', deps, true, async () => {
      const run = await deps.receipts.run()
      const detail = receiptsSummary(run)
      // One chain out of reach is told; all that were asked say that nothing is checked any more.
      const asked = run.chains.filter(({ state }) => state !== 'no rpc' && state !== 'no checker')
      const isOut = asked.length > 0 && asked.every(({ state }) => state === 'failed')
      if (isOut) throw new Error(detail ?? 'no chain could be read')
      return { detail: detail ?? 'nothing was due', quiet: false }
    })
  }

  return {
    poll,
    pacts,
    checkReceipts,
    expire,
    deliver,
    build: (when) => {
      if (when === 'if changed' && waiting !== null) return waiting
      // One after the other: cron, a nudge and the end of a poll may ask at the same time.
      const next = queue.then(async () => {
        if (when === 'if changed') await rest()
        if (waiting === next) waiting = null
        try {
          return await buildNow(when)
        } catch (error) {
          // A database that does not answer now: the builds that come after this one are not lost with it.
          deps.log.error('no build', { reason: redact(String(error)) })
          return false
        }
      })
      queue = next
      waiting = next
      return next
    },
    tidy: async () => {
      const settledMs = settledTime()
      if (settledMs !== null) {
        const expired = isoTime(settledMs)
        await dropAll((tx) => dropExpiredAnswers(tx, expired, tidyBatch))
      }
      const before = isoTime(clock.now() - 2 * dayMs)
      await dropAll((tx) => dropNetworkWrites(tx, before, tidyBatch))
    },
  }
}
