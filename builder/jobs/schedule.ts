import { schedule } from 'node-cron'

import { repeatEvery } from '../../src/core/concurrency.ts'
import type { Clock, Log } from '../../src/core/deps.ts'
import { secondMs } from '../../src/core/time.ts'
import { untilAborted } from '../../src/runtime/runtime.ts'
import { watchForJumps } from './clock-jumps.ts'
import type { Jobs } from './create-jobs.ts'
import type { PollReport } from './poll-rail.ts'

interface ScheduledJob {
  readonly name: string
  /** Cron expression, or the pause between two runs by the monotonic clock, which clock changes do not delay. */
  readonly when: string | { readonly pauseMs: number }
  /** Runs again at once after the result `unfinished`. */
  readonly run: (jobs: Jobs) => Promise<unknown>
  readonly thenBuild?: true
}

const everyMinute = '* * * * *'

/** Hourly jobs avoid the full hour, when sources and nodes are busiest. */
const scheduledJobs: readonly ScheduledJob[] = [
  { name: 'poll', when: everyMinute, run: (jobs) => jobs.poll('due'), thenBuild: true },
  { name: 'receipts', when: '7 * * * *', run: (jobs) => jobs.checkReceipts(), thenBuild: true },
  { name: 'pacts', when: '41 * * * *', run: (jobs) => jobs.checkPacts(), thenBuild: true },
  { name: 'expire', when: everyMinute, run: (jobs) => jobs.expire(), thenBuild: true },
  { name: 'disputes', when: '*/10 * * * *', run: (jobs) => jobs.standings(), thenBuild: true },
  { name: 'export', when: '53 * * * *', run: (jobs) => jobs.export(), thenBuild: true },
  { name: 'statements', when: '19 * * * *', run: (jobs) => jobs.statements() },
  { name: 'agents', when: '*/10 * * * *', run: (jobs) => jobs.agents(), thenBuild: true },
  { name: 'tidy', when: everyMinute, run: (jobs) => jobs.tidy() },
  { name: 'witnesses', when: everyMinute, run: (jobs) => jobs.cosign() },
  { name: 'requests', when: { pauseMs: secondMs }, run: (jobs) => jobs.buildIfRequested() },
  { name: 'webhooks', when: { pauseMs: 5 * secondMs }, run: (jobs) => jobs.deliver() },
  { name: 'log', when: { pauseMs: secondMs / 2 }, run: (jobs) => jobs.log() },
]
/** Jobs that also run at the start. The jobs of a group run one after another; the groups run in parallel. */
const startGroups: readonly (readonly string[])[] = [
  ['poll', 'export'],
  ['receipts', 'pacts', 'statements'],
]

export async function runOnce(
  jobs: Jobs,
  { polls, onReport }: { readonly polls: boolean; readonly onReport: (report: PollReport) => void },
): Promise<boolean> {
  const polled = !polls || (await jobs.poll('all', onReport)) === true
  // An unreachable Arbitrum node changes no known fact, so it does not make the round fail.
  await jobs.checkPacts()
  const checked = await jobs.checkReceipts()
  await jobs.expire()
  const stated = await jobs.statements()
  const exported = await jobs.export()
  const built = await jobs.build('now')
  const delivered = await jobs.deliver()
  const logged = await jobs.log()
  await jobs.cosign()
  return polled && checked && stated && exported && built && delivered && logged
}

/** Resolves when the signal has aborted and all runs have ended. */
export async function runForever(
  jobs: Jobs,
  deps: {
    readonly clock: Clock
    readonly log: Log
    readonly signal: AbortSignal
    readonly polls: boolean
    /** Passes on the requests of the service. */
    readonly onRequest: (build: () => void) => void
  },
): Promise<void> {
  const { clock, log, signal } = deps
  const active = scheduledJobs.filter(({ name }) => name !== 'poll' || deps.polls)
  const running = new Set<Promise<unknown>>()
  const busy = new Set<ScheduledJob>()

  async function run(job: ScheduledJob): Promise<void> {
    if (signal.aborted || busy.has(job)) return
    busy.add(job)
    try {
      let isUnfinished = true
      while (isUnfinished && !signal.aborted) {
        isUnfinished = (await job.run(jobs)) === 'unfinished'
        if (job.thenBuild === true && !signal.aborted) await jobs.build('if changed')
      }
    } catch (error) {
      log.error(`job ${job.name} ended early`, { error: String(error) })
    } finally {
      busy.delete(job)
    }
  }

  async function tracked(work: Promise<unknown>): Promise<void> {
    running.add(work)
    await work
    running.delete(work)
  }

  async function repeat(job: ScheduledJob, pauseMs: number): Promise<void> {
    await run(job)
    await repeatEvery(pauseMs, () => run(job), { clock, signal })
  }

  async function runGroup(names: readonly string[]): Promise<void> {
    for (const job of active) {
      if (names.includes(job.name)) await run(job)
    }
  }

  deps.onRequest(() => {
    if (!signal.aborted) void tracked(jobs.build('if changed'))
  })
  await jobs.build('now')
  const tasks = active.flatMap((job) => {
    const { name, when } = job
    if (typeof when !== 'string') return []
    return [schedule(when, async () => await tracked(run(job)), { name })]
  })
  for (const job of active) {
    if (typeof job.when === 'object') void tracked(repeat(job, job.when.pauseMs))
  }
  for (const names of startGroups) void tracked(runGroup(names))
  const restart = (jumpMs: number): void => {
    log.warn('the clock was set', { jump_s: Math.round(jumpMs / secondMs) })
    for (const task of tasks) void Promise.resolve(task.stop()).then(async () => await task.start())
  }
  void tracked(watchForJumps(clock, signal, restart))
  await untilAborted(signal)
  await Promise.all(tasks.map(async (task) => await task.destroy()))
  await Promise.all(running)
}
