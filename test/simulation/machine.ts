/** The machine on which the processes of the ledger run. */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

import type { Clock } from '../../src/core/deps.ts'
import type { Chance } from './random.ts'
import type { Database, Machine as DriverMachine, Operation } from './sqlite-driver.ts'
import { mount } from './sqlite-driver.ts'

type ProcessName = 'service' | 'builder'

export interface Process {
  readonly name: ProcessName
  readonly connections: Database[]
  isAlive: boolean
  /** Operations run immediately while it starts. */
  isStarting: boolean
  /** Its database failed: it ends itself soon. */
  isBroken: boolean
}

type Stage = 'begin' | 'read' | 'write' | 'savepoint' | 'commit' | 'rollback'
type FaultKind =
  | 'busy'
  | 'full'
  | 'full, undone'
  | 'interrupted'
  | 'refused'
  | 'failed'
  | 'failed, but done'
  | 'died before'
  | 'died after'

interface Fault {
  readonly kind: FaultKind
  readonly process: ProcessName
  readonly stage: Stage | 'any'
  /** Operations of the stage that succeed before. */
  skip: number
}

/** Draws a fault of a disk or the death of a process at a later operation. */
export function drawFault(chance: Chance): Fault {
  const kind = chance.weighted<FaultKind>({
    busy: 3,
    full: 2,
    'full, undone': 2,
    interrupted: 2,
    refused: 3,
    failed: 2,
    'failed, but done': 3,
    'died before': 4,
    'died after': 5,
  })
  const stage = chance.weighted<Stage | 'any'>({
    any: 4,
    commit: 5,
    write: 3,
    begin: 1,
    savepoint: 1,
    read: 1,
    rollback: 0.3,
  })
  const process = chance.happens(0.8) ? 'service' : 'builder'
  return { kind, stage: kind === 'busy' ? 'begin' : stage, process, skip: chance.below(6) }
}

interface Waiting {
  /** Null for events outside of the processes. */
  readonly process: Process | null
  readonly what: string
  readonly release: () => Promise<void>
  readonly drop: () => void
}

export type Machine = ReturnType<typeof createMachine>

const codes = {
  busy: 'SQLITE_BUSY',
  full: 'SQLITE_FULL',
  'full, undone': 'SQLITE_FULL',
  interrupted: 'SQLITE_INTERRUPT',
  // Fails one statement, not its transaction.
  refused: 'SQLITE_TOOBIG',
  failed: 'SQLITE_IOERR',
  'failed, but done': 'SQLITE_IOERR',
} as const

const startMonotonicMs = 1000

export function createMachine(given: {
  readonly chance: Chance
  readonly startMs: number
  readonly log: (line: string) => void
  /** Called when a transaction begins or is undone. */
  readonly discarded: () => void
  /** Called before a savepoint is released, which ends a write within a transaction. */
  readonly released: (connection: Database) => Promise<void>
  /** Called after every commit, before the program is notified. */
  readonly committed: (process: Process) => Promise<void>
}) {
  const { chance, log } = given
  let nowMs = given.startMs
  let worldMs = given.startMs
  let monotonicMs = startMonotonicMs
  let pending: Waiting[] = []
  let armed: Fault[] = []
  /** The connection that has the write lock of the file. */
  let holder: Database | null = null
  let died: Process | null = null
  let troubles = 0
  let faults = 0
  let steps = 0

  const submitTo = (process: Process): DriverMachine => ({
    opened: (connection) => process.connections.push(connection),
    submit: (operation) => {
      if (!process.isAlive) globalThis.process.nextTick(operation.finish, gone())
      else if (process.isStarting) void operation.execute().then(operation.finish)
      else {
        pending.push({
          process,
          what: `${process.connections.indexOf(operation.connection)} ${brief(operation.sql)}`,
          release: () => perform(process, operation),
          drop: () => operation.finish(gone()),
        })
      }
    },
  })

  function dueFault(process: Process, stage: Stage): FaultKind | null {
    for (const fault of armed) {
      if (fault.process !== process.name || (fault.stage !== 'any' && fault.stage !== stage))
        continue
      if (!stagesOf[fault.kind].includes(stage)) continue
      if (fault.skip > 0) {
        fault.skip -= 1
        continue
      }
      armed = armed.filter((one) => one !== fault)
      faults += 1
      troubles += 1
      return fault.kind
    }
    return null
  }

  async function perform(process: Process, operation: Operation): Promise<void> {
    const { connection, sql } = operation
    const stage = stageOf(sql)
    const isLocked = holder !== null && holder !== connection
    const isOwn = holder === connection
    if (isLocked && (stage === 'begin' || stage === 'write')) {
      troubles += 1
      log(`  ${process.name}: another connection has the lock`)
      operation.finish(failure('busy'))
      return
    }
    const fault = dueFault(process, stage)
    if (fault !== null) log(`  ${process.name}: ${fault} at ${brief(sql)}`)
    if (fault === 'died before') {
      died = process
      return
    }
    const isSkipped = fault !== null && fault !== 'died after' && fault !== 'failed, but done'
    if (stage === 'begin' || stage === 'rollback') given.discarded()
    if (isOwn && sql.startsWith('release')) await given.released(connection)
    let error: Error | null = null
    if (isSkipped) {
      const isUndone = fault === 'full, undone' || (fault === 'interrupted' && stage !== 'read')
      if (isOwn && isUndone) {
        await connection.reallyExec('rollback')
        holder = null
        given.discarded()
      }
    } else {
      error = await operation.execute()
      if (error === null && stage === 'begin') holder = connection
      if (isOwn && (stage === 'rollback' || (stage === 'commit' && error === null))) holder = null
      if (error === null && (stage === 'commit' || (stage === 'write' && !isOwn))) {
        await given.committed(process)
      }
    }
    if (fault === 'died after') died = process
    else operation.finish(fault === null ? error : failure(fault))
  }

  async function settle(): Promise<void> {
    await nextLoop()
    await nextLoop()
  }

  /** Resolves with `value` when the seed decides. */
  const answer = <T>(process: Process, what: string, value: () => T): Promise<T> =>
    new Promise((resolve, reject) => {
      const release = async (): Promise<void> => {
        try {
          resolve(value())
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)))
        }
      }
      if (process.isAlive) pending.push({ process, what, release, drop: () => reject(gone()) })
      else reject(gone())
    })

  return {
    nowMs: () => nowMs,
    /** Like the clock, but never goes back. */
    worldMs: () => worldMs,
    moveClock: (byMs: number): void => {
      nowMs += byMs
      worldMs += Math.max(0, byMs)
      monotonicMs += Math.max(0, byMs)
    },
    /** Sets a clock that is behind. */
    setClock: (): void => {
      nowMs = Math.max(nowMs, worldMs)
    },
    clockOf: (process: Process): Clock => ({
      now: () => nowMs,
      monotonic: () => monotonicMs,
      sleep: (delayMs) =>
        answer(process, 'timer', () => {
          monotonicMs += delayMs
        }),
    }),
    startProcess: async <Parts>(
      name: ProcessName,
      open: (process: Process) => Promise<Parts>,
    ): Promise<Parts & { readonly process: Process }> => {
      const process: Process = {
        name,
        connections: [],
        isAlive: true,
        isStarting: true,
        isBroken: false,
      }
      mount(submitTo(process))
      const parts = await open(process)
      mount(null)
      await settle()
      process.isStarting = false
      return { ...parts, process }
    },
    /** Drops the pending operations of a process and closes its files: uncommitted changes are lost. */
    kill: async (process: Process): Promise<void> => {
      process.isAlive = false
      const own = pending.filter((one) => one.process === process)
      pending = pending.filter((one) => one.process !== process)
      for (const { drop } of own) drop()
      await settle()
      for (const connection of process.connections) {
        if (holder === connection) {
          holder = null
          given.discarded()
        }
        await new Promise<void>((resolve, reject) => {
          connection.close((error) => (error === null ? resolve() : reject(error)))
        })
      }
    },
    arm: (fault: Fault): void => {
      armed.push(fault)
    },
    disarm: (): void => {
      armed = []
    },
    waiting: () => pending.length,
    /** Runs one pending operation. Returns a process that died of it. */
    step: async (): Promise<Process | null> => {
      const [next] = pending.splice(chance.below(pending.length), 1)
      if (next === undefined) return null
      steps += 1
      log(`  ${next.process?.name ?? 'outside'}: ${next.what}`)
      died = null
      await next.release()
      await settle()
      return died
    },
    settle,
    answer,
    outside: (what: string, happen: () => void): void => {
      const release = async (): Promise<void> => happen()
      pending.push({ process: null, what, release, drop: () => undefined })
    },
    troubles: () => troubles,
    faults: () => faults,
    steps: () => steps,
  }
}

const anyStage = ['begin', 'read', 'write', 'savepoint', 'commit', 'rollback'] as const
const stagesOf: Readonly<Record<FaultKind, readonly Stage[]>> = {
  busy: ['begin'],
  full: ['write', 'commit'],
  'full, undone': ['write', 'commit'],
  interrupted: ['read', 'write'],
  refused: ['read', 'write'],
  failed: anyStage,
  'failed, but done': anyStage,
  'died before': anyStage,
  'died after': anyStage,
}

function stageOf(sql: string): Stage {
  if (sql.includes('begin immediate')) return 'begin'
  const [word = ''] = /^\s*\w+/.exec(sql.toLowerCase()) ?? []
  switch (word.trim()) {
    case 'commit':
      return 'commit'
    case 'rollback':
      return sql.startsWith('rollback to') ? 'savepoint' : 'rollback'
    case 'savepoint':
    case 'release':
      return 'savepoint'
    case 'insert':
    case 'update':
    case 'delete':
    case 'replace':
      return 'write'
    default:
      return 'read'
  }
}

function failure(kind: keyof typeof codes): Error {
  const code = codes[kind]
  return Object.assign(new Error(`${code}: made by the simulation`), { code })
}

function gone(): Error {
  return new Error('the process is gone')
}

function brief(sql: string): string {
  return sql.replaceAll(/\s+/g, ' ').trim().slice(0, 72)
}

function nextLoop(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

/** Makes reads of authored files synchronous: the end of an asynchronous read would not depend on the seed. */
export function readFilesSynchronously(): void {
  for (const [name, read] of [
    ['readFile', fs.readFileSync],
    ['readdir', fs.readdirSync],
  ] as const) {
    const readNow = async (...parameters: readonly unknown[]): Promise<unknown> =>
      await Promise.resolve(Reflect.apply(read, fs, parameters))
    Object.assign(fs.promises, { [name]: readNow })
  }
  syncBuiltinESMExports()
}
