/** The jobs of the builder, one at a time, each checked at its end. */
import { compareDocuments } from './oracle/documents.ts'
import { overdueJobs } from './oracle/facts.ts'
import type { LedgerOracle, RunningJob } from './oracle/ledger.ts'
import type { BuilderProcess } from './processes.ts'
import type { Run } from './run.ts'

export type TaskKind = 'build' | 'expire' | 'tidy' | 'poll' | 'tell'

export function createTasks(
  { machine, tally, log, fail }: Run,
  oracle: Pick<LedgerOracle, 'versions' | 'db'>,
) {
  let task: RunningJob | null = null

  async function build({ process, build: run }: BuilderProcess, nowMs: number): Promise<void> {
    const from = oracle.versions.length - 1
    const documents = await run(nowMs)
    if (!process.isAlive) return
    tally.builds += 1
    for (const problem of compareDocuments(documents, oracle.versions.slice(from), nowMs)) {
      fail(`a published document: ${problem}`)
    }
  }

  async function expire({ process, worker }: BuilderProcess, nowMs: number): Promise<boolean> {
    const due = overdueJobs(oracle.db(), nowMs)
    const isDone = await worker.expire()
    if (!isDone || !process.isAlive) return isDone
    const left = overdueJobs(oracle.db(), nowMs)
    for (const job of due) if (left.includes(job)) fail(`the time of ${job} is over`)
    return isDone
  }

  async function conclude(
    { process }: BuilderProcess,
    mine: RunningJob,
    work: () => Promise<unknown>,
  ): Promise<void> {
    const troubles = machine.troubles()
    let failure: string | null = null
    try {
      const isDone = await work()
      if (isDone === false && mine.kind !== 'poll') failure = 'the job reports a failure'
      tally.jobs += 1
    } catch (error) {
      failure = error instanceof Error ? (error.stack ?? error.message) : 'not an Error'
    }
    if (task === mine) task = null
    if (!process.isAlive) return
    log(`the builder has ${failure === null ? 'ended' : 'failed'} to ${mine.kind}`)
    if (failure !== null && machine.troubles() === troubles && !process.isBroken) {
      fail(`the builder failed to ${mine.kind}: ${failure}`)
    }
  }

  return {
    current: () => task,
    start: (builder: BuilderProcess, kind: TaskKind, stamp: string): void => {
      if (task !== null) return
      const nowMs = machine.nowMs()
      task = { kind, nowMs }
      log(`${stamp} the builder begins to ${kind}`)
      const work = {
        build: () => build(builder, nowMs),
        expire: () => expire(builder, nowMs),
        tidy: () => builder.worker.tidy(),
        poll: () => builder.worker.poll('all'),
        tell: () => builder.worker.deliver(),
      }[kind]
      void conclude(builder, task, work)
    },
    drop: (): void => {
      task = null
    },
  }
}
