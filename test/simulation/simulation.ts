/** One run: the steps of a plan, taken while the machine lets one thing go after the other, and all of it judged. */
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { send } from './call.ts'
import type { Call } from './call.ts'
import { compareDocuments } from './documents.ts'
import { openEye } from './eye.ts'
import type { Eye } from './eye.ts'
import { markRestored, startMs } from './installation.ts'
import type { Installation } from './installation.ts'
import { createMachine } from './machine.ts'
import type { Fault, FaultKind, Stage } from './machine.ts'
import type { Step } from './plan.ts'
import { startBuilder, startService } from './processes.ts'
import type { BuilderProcess, Host, ServiceProcess } from './processes.ts'
import { countersOf, createChance, seedFor } from './random.ts'
import type { Chance } from './random.ts'
import { again, request } from './requests.ts'
import type { Sent } from './requests.ts'
import { copyOf, iso, statusAt } from './state.ts'
import type { State } from './state.ts'
import { createWitness } from './witness.ts'
import type { ClockWork, Flight } from './witness.ts'

export interface Outcome {
  /** What went wrong first; null where nothing did. */
  readonly problem: string | null
  readonly lines: readonly string[]
  /** Of the whole history. */
  readonly hash: string
  readonly tally: Readonly<Record<Counted, number>>
}

export const counted = [
  'requests',
  'taken',
  'repeats',
  'refused',
  'unanswered',
  'faults',
  'restarts',
  'builds',
  'jobs',
  'statements',
] as const
export type Counted = (typeof counted)[number]

export async function simulate(
  seed: number,
  steps: readonly Step[],
  installation: Installation,
): Promise<Outcome> {
  const hash = createHash('sha256')
  const lines: string[] = []
  const log = (line: string): void => {
    lines.push(line)
    hash.update(`${line}\n`)
  }
  const tally = countersOf(counted)
  const order = createChance(seedFor(seed, 'order'))
  const machine = createMachine({
    chance: order,
    startMs,
    log,
    committed: ({ name }) => witness.observe(eye, name === 'builder' ? task : null),
  })
  const crowd = order.pick([1, 2, 4, 8, 16] as const)
  const files: string[] = []
  let generation = 0
  let path = newPath()
  copyFileSync(installation.emptyDatabase, path)
  let eye: Eye = await openEye(path)
  const witness = createWitness({ log, wrong, tally })
  const sentBefore: Sent[] = []
  let task: ClockWork | null = null
  let backup: { readonly path: string; readonly state: State } | null = null
  let calm = 0
  let problem: string | null = null
  let service: ServiceProcess
  let builder: BuilderProcess

  function newPath(): string {
    const made = join(installation.dir, `${seed}-${files.length}.db`)
    files.push(made)
    return made
  }

  const isWell = (): boolean => problem === null

  function wrong(what: string): void {
    log(`WRONG: ${what}`)
    problem ??= what
  }

  function host(): Host {
    generation += 1
    const isPatient = createChance(seedFor(seed, `patience ${generation}`)).happens(0.5)
    const troubles = machine.troubles()
    const fault = (said: string): void => {
      if (machine.troubles() === troubles) wrong(`the program failed by itself: ${said}`)
    }
    return { machine, installation, path, seed, generation, isPatient, fault }
  }

  function stamp(): string {
    return iso(machine.nowMs()).slice(0, 23)
  }

  function start(flight: Pick<Flight, 'name' | 'sent' | 'look'>, call: Call): void {
    // Whoever comes while others still suffer from a trouble may suffer with them.
    if (witness.flights.size === 0) calm = machine.troubles()
    const { process, server } = service
    const under = witness.begun({ ...flight, nowMs: machine.nowMs(), troubles: calm })
    send(server, call, (answer) => {
      if (!process.isAlive || !witness.flights.has(under)) return
      witness.answered(under, answer, process.isBroken || machine.troubles() > under.troubles)
    })
  }

  async function take(step: Step, number: number): Promise<void> {
    const chance = createChance(step.salt)
    const { kind } = step
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- the others are requests.
    switch (kind) {
      case 'tick':
        moveClock(1 + chance.below(60_000))
        return
      case 'leap':
        moveClock(
          chance.pick([1.1, 7.3, 26, 13.5 * 24, 15 * 24] as const) * 3_600_000 + chance.below(1000),
        )
        return
      case 'back':
        moveClock(-(chance.pick([1, 9, 130, 1500] as const) * 60_000 + chance.below(1000)))
        return
      case 'fault': {
        const fault = faultOf(chance)
        log(
          `${stamp()} #${number} to come: ${fault.kind} at ${fault.stage} of the ${fault.process}, after ${fault.skip}`,
        )
        machine.arm(fault)
        return
      }
      case 'kill service':
        await restart('service')
        return
      case 'kill builder':
        await restart('builder')
        return
      case 'power':
        await restart('both')
        return
      case 'back up':
        backup = { path: copyOfDisk(), state: copyOf(witness.state()) }
        log(`${stamp()} a backup is made`)
        return
      case 'put back':
        if (backup !== null) await restart('both', backup)
        return
      case 'build':
      case 'expire':
      case 'tidy':
      case 'poll':
        runTask(kind)
        return
      case 'look':
        look(chance, number)
        return
      case 'again': {
        const sent = sentBefore[chance.below(sentBefore.length)]
        if (sent === undefined) return
        const isUnderWay = [...witness.flights].some((flight) => flight.sent?.raw === sent.raw)
        if (sent.proofs.length === 0 && isUnderWay) return
        post(again(sent, number, chance.happens(0.2)), `again #${sent.number}`)
        return
      }
      default: {
        const { reference } = installation
        const remoteKey = (address: string) => installation.keyedHash('remote', address)
        const state = witness.state()
        const at = { number, state, nowMs: machine.nowMs(), reference, chance, remoteKey }
        const sent = await request(kind, at)
        if (sent === null) return
        sentBefore.push(sent)
        post(sent, '')
      }
    }
  }

  function moveClock(byMs: number): void {
    machine.moveClock(Math.round(byMs))
    log(`${stamp()} the clock goes ${byMs > 0 ? 'on' : 'back'}`)
  }

  function post(sent: Sent, how: string): void {
    const name = `#${sent.number} ${sent.intent.kind} ${how}`.trim()
    log(`${stamp()} ${name} ${sent.method} ${sent.path} ${sent.key ?? ''} ${sent.raw}`)
    start({ name, sent, look: null }, sent)
  }

  function look(chance: Chance, number: number): void {
    const what = chance.pick(['receipts', 'jobs', 'partners'] as const)
    const ids = [...witness.state()[what].keys()]
    const id = ids[chance.below(ids.length)]
    if (id === undefined) return
    const path = `/api/v1/${what}/${id}`
    const wanted = {
      receipts: (seen: State) => {
        const found = seen.receipts.get(id)
        return found === undefined
          ? null
          : { receipt_id: id, amount_usdc: found.amountMicro / 1e6, accepted_at: iso(found.atMs) }
      },
      jobs: (seen: State, nowMs: number) => {
        const found = seen.jobs.get(id)
        return found === undefined
          ? null
          : { id, status: statusAt(found, nowMs), bids_count: found.bids.size }
      },
      partners: (seen: State) => {
        const found = seen.partners.get(id)
        return found === undefined ? null : { handle: id, attestation_endpoint_url: found.url }
      },
    }[what]
    const name = `#${number} look at ${path}`
    log(`${stamp()} ${name}`)
    const call = { method: 'GET', path, headers: {}, raw: '', address: '192.0.2.9' }
    start({ name, sent: null, look: wanted }, call)
  }

  function runTask(kind: 'build' | 'expire' | 'tidy' | 'poll'): void {
    if (task !== null) return
    const { process, worker, build } = builder
    const nowMs = machine.nowMs()
    const from = witness.versions.length - 1
    const troubles = machine.troubles()
    const mine = { kind, nowMs }
    task = mine
    log(`${stamp()} the builder begins to ${kind}`)
    const work = {
      build: async () => {
        const documents = await build(nowMs)
        if (!process.isAlive) return
        tally.builds += 1
        for (const unfit of compareDocuments(documents, witness.versions.slice(from), nowMs)) {
          wrong(`a published document: ${unfit}`)
        }
      },
      expire: () => worker.expire(),
      tidy: () => worker.tidy(),
      poll: () => worker.poll('all'),
    }[kind]
    void conclude(work, mine, troubles)
  }

  async function conclude(
    work: () => Promise<unknown>,
    mine: { readonly kind: string; readonly nowMs: number },
    troubles: number,
  ): Promise<void> {
    const { process } = builder
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
      wrong(`the builder failed to ${mine.kind}: ${failed instanceof Error ? failed.message : ''}`)
    }
  }

  async function restart(
    which: 'service' | 'builder' | 'both',
    from: { readonly path: string; readonly state: State } | null = null,
  ): Promise<void> {
    log(`${stamp()} ${which === 'both' ? 'all processes die' : `the ${which} dies`}`)
    tally.restarts += 1
    const isPower = which === 'both'
    if (isPower) path = copyOfDisk(from?.path)
    if (which !== 'builder') {
      await machine.kill(service.process)
      witness.cutOff()
    }
    if (which !== 'service') {
      await machine.kill(builder.process)
      task = null
    }
    if (isPower) {
      await eye.close()
      if (from !== null) await markRestored(path, iso(machine.nowMs()))
      eye = await openEye(path)
      if (from !== null) {
        log(`${stamp()} the backup is put back`)
        await witness.putBack(eye, from.state, machine.nowMs())
      }
    }
    if (which !== 'builder') service = await startService(host())
    if (which !== 'service') builder = await startBuilder(host())
    await witness.examine(eye)
  }

  /** As the disk has it at this moment, with whatever was not yet moved from the log into the file. */
  function copyOfDisk(of = path): string {
    const next = newPath()
    for (const end of ['', '-wal']) {
      if (existsSync(`${of}${end}`)) copyFileSync(`${of}${end}`, `${next}${end}`)
    }
    return next
  }

  /** Looks at what a machine would find that starts with this disk. */
  async function loseAll(): Promise<void> {
    path = copyOfDisk()
    await eye.close()
    eye = await openEye(path)
    await witness.examine(eye)
  }

  /** Lets things go, and takes steps in between, until there is nothing left of either. */
  async function run(todo: readonly Step[], first: number): Promise<void> {
    let at = 0
    while (isWell()) {
      const canStep = at < todo.length
      const hasRoom = witness.flights.size < crowd
      const mayStep = canStep && (machine.waiting() === 0 || (hasRoom && order.happens(0.12)))
      const broken = [service.process, builder.process].find(({ isBroken }) => isBroken)
      if (broken !== undefined && (machine.waiting() === 0 || order.happens(0.1))) {
        await restart(broken.name)
      } else if (mayStep) {
        const step = todo[at]
        at += 1
        if (step !== undefined) await take(step, first + at)
        await machine.settle()
      } else if (machine.waiting() > 0) {
        const died = await machine.step()
        if (died !== null) await restart(died.name)
      } else if (!canStep) {
        return
      }
    }
  }

  /** Whoever got no answer sends again, until there is one. */
  async function settleAll(): Promise<void> {
    machine.disarm()
    for (const [at, sent] of witness.takeUnsettled().entries()) {
      post(again(sent, 1000 + at, false), `again #${sent.number}`)
      await machine.settle()
      await run([], 0)
    }
    // There is nobody now who could make trouble.
    if (problem === null && witness.takeUnsettled().length > 0) wrong('a repeat was not answered')
  }

  service = await startService(host())
  builder = await startBuilder(host())
  try {
    await run(steps, 0)
    machine.disarm()
    await run([], 0)
    if (problem === null) await settleAll()
    for (const kind of ['expire', 'build'] as const) {
      if (problem !== null) break
      runTask(kind)
      await machine.settle()
      await run([], 0)
    }
    if (problem === null) await witness.examine(eye)
    if (problem === null) await loseAll()
  } catch (error) {
    wrong(error instanceof Error ? (error.stack ?? error.message) : String(error))
  } finally {
    await machine.kill(service.process)
    await machine.kill(builder.process)
    await eye.close()
    for (const file of files)
      for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
  }
  tally.faults = machine.faults()
  tally.statements = machine.steps()
  return { problem, lines, hash: hash.digest('hex'), tally }
}

function faultOf(chance: Chance): Fault {
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
