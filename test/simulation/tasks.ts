/** The jobs of the builder, one at a time, each checked at its end. */
import { compareDocuments } from './documents.ts'
import type { ClockWork, LedgerOracle } from './ledger-oracle.ts'
import type { Machine } from './machine.ts'
import { overdue } from './model/job-ends.ts'
import type { BuilderProcess } from './processes.ts'
import type { Counted } from './run-result.ts'

export type TaskKind = 'build' | 'expire' | 'tidy' | 'poll' | 'tell'

export interface Tasks {
  readonly current: () => ClockWork | null
  readonly start: (builder: BuilderProcess, kind: TaskKind, stamp: string) => void
  readonly drop: () => void
}

export function createTasks(given: {
  readonly machine: Machine
  readonly oracle: Pick<LedgerOracle, 'versions' | 'state'>
  readonly tally: Record<Counted, number>
  readonly log: (line: string) => void
  readonly fail: (what: string) => void
}): Tasks {
  const { machine, oracle, tally, log, fail } = given
  let task: ClockWork | null = null

  async function build({ process, build }: BuilderProcess, nowMs: number): Promise<void> {
    const from = oracle.versions.length - 1
    const documents = await build(nowMs)
    if (!process.isAlive) return
    tally.builds += 1
    for (const unfit of compareDocuments(documents, oracle.versions.slice(from), nowMs)) {
      fail(`a published document: ${unfit}`)
    }
  }

  /** Jobs that were due at its start must have ended if it succeeds. */
  async function expire({ process, worker }: BuilderProcess, nowMs: number): Promise<boolean> {
    const due = overdue(oracle.state(), nowMs)
    const went = await worker.expire()
    if (!went || !process.isAlive) return went
    const left = new Set(overdue(oracle.state(), nowMs))
    for (const job of due) if (left.has(job)) fail(`the time of ${job} is over, and it goes on`)
    return went
  }

  async function conclude(
    { process }: BuilderProcess,
    work: () => Promise<unknown>,
    mine: ClockWork,
    troubles: number,
  ): Promise<void> {
    let failed: unknown = null
    try {
      const went = await work()
      if (went === false && mine.kind !== 'poll') failed = new Error('it says so itself')
      tally.jobs += 1
    } catch (error) {
      failed = error
    }
    if (task === mine) task = null
    if (!process.isAlive) return
    log(`the builder has ${failed === null ? 'ended' : 'failed'} to ${mine.kind}`)
    if (failed !== null && machine.troubles() === troubles && !process.isBroken) {
      fail(`the builder failed to ${mine.kind}: ${failed instanceof Error ? failed.message : ''}`)
    }
  }

  return {
    current: () => task,
    start: (builder, kind, stamp) => {
      if (task !== null) return
      const nowMs = machine.nowMs()
      const mine = { kind, nowMs }
      task = mine
      log(`${stamp} the builder begins to ${kind}`)
      const work = {
        build: () => build(builder, nowMs),
        expire: () => expire(builder, nowMs),
        tidy: () => builder.worker.tidy(),
        poll: () => builder.worker.poll('all'),
        tell: () => builder.worker.deliver(),
      }[kind]
      void conclude(builder, work, mine, machine.troubles())
    },
    drop: () => {
      task = null
    },
  }
}
