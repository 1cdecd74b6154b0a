/** One run: executes the steps of a plan between operations of the machine and judges every effect. */
import { createHash } from 'node:crypto'

import { createPaymentWorld } from './chain/world.ts'
import type { PaidRead } from './chain/world.ts'
import { send } from './http-call.ts'
import type { Answer, Call } from './http-call.ts'
import { createDisks, markRestored, startMs } from './installation.ts'
import type { Installation } from './installation.ts'
import { createMachine, drawFault } from './machine.ts'
import type { Step } from './plan.ts'
import { startBuilder, startService } from './processes.ts'
import type { BuilderProcess, Host, ServiceProcess } from './processes.ts'
import { countersOf, createChance, seedFor } from './random.ts'
import type { Chance } from './random.ts'
import { drawRequest, repeatRequest } from './requests.ts'
import type { Kind, SimulatedRequest } from './requests.ts'
import { counted } from './run.ts'
import type { Run, RunResult } from './run.ts'
import { compareDocuments, drawRead, overdueJobs } from './verdict/documents.ts'
import { createLedgerVerdict } from './verdict/ledger.ts'
import type { Flight, LedgerVerdict } from './verdict/ledger.ts'
import { createPaymentsVerdict } from './verdict/payments.ts'
import { openProbe } from './verdict/snapshot.ts'
import type { Snapshot } from './verdict/snapshot.ts'
import { createReceivers } from './verdict/webhooks.ts'

type Task = 'build' | 'expire' | 'tidy' | 'poll' | 'send'
type Victim = 'service' | 'builder' | 'both'

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const longestPaymentMs = 90 * minuteMs
const finalMs = 5 * minuteMs
const longestRetryMs = 1.2 * dayMs
const rounds = 5

export async function simulate(
  seed: number,
  steps: readonly Step[],
  installation: Installation,
): Promise<RunResult> {
  const hash = createHash('sha256')
  const lines: string[] = []
  const log = (line: string): void => {
    lines.push(line)
    hash.update(`${line}\n`)
  }
  const tally = countersOf(counted)
  const chanceFor = (purpose: string) => createChance(seedFor(seed, purpose))
  const order = chanceFor('order')
  const crowd = order.pick([1, 2, 4, 8, 16] as const)
  const disks = createDisks(installation.dir, seed)
  const { keyedHash, reference } = installation
  const requests: SimulatedRequest[] = []
  let generation = 0
  let path = disks.copyOf(installation.emptyDatabase)
  let probe = await openProbe(path)
  let backup: { readonly path: string; readonly db: Snapshot } | null = null
  let problem: string | null = null
  let service: ServiceProcess
  let builder: BuilderProcess
  /** True until the service dies between the record of a payment and its settlement, in half of the runs. */
  let diesAtPayment = chanceFor('death at a payment').happens(0.5)
  /** States after writes of the open transaction. */
  let between: Snapshot[] = []
  let task: Task | null = null
  let watching: ServiceProcess['process'] | null = null
  let calmTroubles = 0

  const machine = createMachine({
    chance: order,
    startMs,
    log,
    discarded: () => {
      between = []
    },
    released: async (connection) => {
      between.push(await verdict.reader.read((sql) => connection.reallyAll(sql)))
    },
    committed: async ({ name }) => {
      const states = between
      between = []
      await verdict.observe(probe.query, states, () => name === 'builder')
    },
  })
  const run: Run = { machine, installation, chanceFor, log, fail, tally }
  const current = (): Snapshot => verdict.db()
  const paymentWorld = createPaymentWorld(run, (authorization, txHash) =>
    payments.handedOver(authorization, txHash),
  )
  const payments = createPaymentsVerdict(run, paymentWorld, current)
  const receivers = createReceivers(run, current)
  const verdict: LedgerVerdict = await createLedgerVerdict(run, probe.query, {
    watchers: [payments, receivers],
    answeredPaid: (paid, answer) => payments.answered(paid, answer),
  })

  function fail(what: string): void {
    log(`WRONG: ${what}`)
    problem ??= what
  }

  const hasPassed = (): boolean => problem === null
  const stamp = (): string => new Date(machine.nowMs()).toISOString()

  function host(): Host {
    generation += 1
    const isPatient = chanceFor(`patience ${generation}`).happens(0.5)
    const troubles = machine.troubles()
    const fault = (text: string): void => {
      if (machine.troubles() === troubles) fail(`the program failed by itself: ${text}`)
    }
    return { ...run, paymentWorld, receivers, path, generation, isPatient, fault }
  }

  function start(flight: Pick<Flight, 'name'> & Partial<Flight>, call: Call): void {
    // A request during a fault may suffer from it.
    if (verdict.flights.size === 0) calmTroubles = machine.troubles()
    const { process, server } = service
    const nodeFaults = paymentWorld.faults()
    const begun = verdict.begin({ ...flight, nowMs: machine.nowMs(), troubles: calmTroubles })
    log(`${stamp()} ${flight.name} ${call.method} ${call.path} ${call.raw}`)
    send(server, call, (answer: Answer) => {
      if (!process.isAlive || !verdict.flights.has(begun)) return
      const hasNodeFailed = begun.paid !== null && paymentWorld.faults() > nodeFaults
      const isExcused = process.isBroken || machine.troubles() > begun.troubles || hasNodeFailed
      verdict.answered(begun, answer, isExcused)
    })
  }

  async function ask(kind: Kind, isWilling: boolean, number: number, chance: Chance) {
    const at = { number, kind, db: current(), nowMs: machine.nowMs(), reference }
    const request = await drawRequest({ ...at, chance, isWilling, keyedHash })
    if (request === null) return
    requests.push(request)
    start({ name: `#${number} ${kind} ${request.key ?? ''}`, request }, request)
  }

  function repeat(number: number, chance: Chance): void {
    const earlier = requests[chance.below(requests.length)]
    if (earlier === undefined) return
    const isUnderWay = [...verdict.flights].some(({ request }) => request?.raw === earlier.raw)
    if (earlier.signedAtMs === null && isUnderWay) return
    const request = repeatRequest(earlier, number, chance.happens(0.2))
    start({ name: `#${number} again #${earlier.number} ${earlier.kind}`, request }, request)
  }

  /** Requests a sold read; at times twice at once. */
  async function buy(number: number, chance: Chance): Promise<void> {
    const paid = await paymentWorld.draw(number, chance)
    start({ name: `#${number} paid read`, paid }, paid)
    if (chance.happens(0.2)) start({ name: `#${number} paid read twice`, paid }, paid)
  }

  function look(number: number, chance: Chance): void {
    const read = drawRead(chance, current(), machine.nowMs())
    if (read === null) return
    const call = { method: 'GET', path: read.path, headers: {}, raw: '', address: '192.0.2.9' }
    start({ name: `#${number} read`, isShown: read.isShown }, call)
  }

  async function take({ kind, isWilling, salt }: Step, number: number): Promise<void> {
    const chance = createChance(salt)
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- the others are requests.
    switch (kind) {
      case 'tick':
        return moveClock(1 + chance.below(minuteMs))
      case 'leap': {
        const hours = chance.pick([1.1, 7.3, 26, 13.5 * 24, 15 * 24] as const)
        return moveClock(hours * hourMs + chance.below(1000))
      }
      case 'nearly a fortnight':
        return moveClock(13.01 * dayMs + chance.below(0.95 * dayMs))
      case 'over a fortnight':
        return moveClock(14.01 * dayMs + chance.below(dayMs))
      case 'back':
        return moveClock(-(chance.pick([1, 9, 130, 1500] as const) * minuteMs + chance.below(1000)))
      case 'fault': {
        const fault = drawFault(chance)
        log(`${stamp()} #${number} to come: ${JSON.stringify(fault)}`)
        return machine.arm(fault)
      }
      case 'kill service':
        return await restart('service')
      case 'kill builder':
        return await restart('builder')
      case 'power':
        return await restart('both')
      case 'back up':
        backup = { path: disks.copyOf(path), db: current() }
        return log(`${stamp()} a backup is made`)
      case 'put back':
        return backup === null ? undefined : await restart('both', backup)
      case 'build':
      case 'expire':
      case 'tidy':
      case 'poll':
      case 'send':
        return work(kind)
      case 'buy':
        return await buy(number, chance)
      case 'watch':
        return watch()
      case 'stranger':
        return paymentWorld.stranger(chance)
      case 'fork':
        return paymentWorld.chain.fork()
      case 'look':
        return look(number, chance)
      case 'again':
        return repeat(number, chance)
      default:
        return await ask(kind, isWilling, number, chance)
    }
  }

  /** A round of the payment watch, which runs at the start and every minute. */
  function watch(): void {
    const { process } = service
    if (watching !== null) return
    log(`${stamp()} the payment watch begins`)
    watching = process
    void watchOnce(service)
  }

  async function watchOnce({ process, watch: round }: ServiceProcess): Promise<void> {
    await round()
    if (watching === process) watching = null
  }

  /** Starts a job of the builder, which runs one at a time. */
  function work(kind: Task): void {
    if (task !== null) return
    log(`${stamp()} the builder begins to ${kind}`)
    task = kind
    void conclude(builder, kind)
  }

  async function conclude({ process, worker, build }: BuilderProcess, kind: Task): Promise<void> {
    const troubles = machine.troubles()
    const nowMs = machine.nowMs()
    const from = verdict.versions.length - 1
    const due = overdueJobs(current(), nowMs)
    let failure: string | null = null
    try {
      if (kind === 'build') {
        const documents = await build(nowMs)
        if (!process.isAlive) return
        tally.builds += 1
        for (const wrong of compareDocuments(documents, verdict.versions.slice(from), nowMs))
          fail(`a published document: ${wrong}`)
      } else {
        const isDone = await {
          expire: worker.expire,
          tidy: worker.tidy,
          poll: () => worker.poll('all'),
          send: worker.deliver,
        }[kind]()
        if (isDone === false && kind !== 'poll') failure = 'the job reports a failure'
        const left = overdueJobs(current(), nowMs).filter((job) => due.includes(job))
        if (kind === 'expire' && process.isAlive && failure === null && left.length > 0)
          fail(`the time of ${left.join()} is over`)
      }
      tally.jobs += 1
    } catch (error) {
      failure = error instanceof Error ? (error.stack ?? error.message) : 'not an Error'
    }
    if (!process.isAlive) return
    task = null
    log(`the builder has ${failure === null ? 'ended' : 'failed'} to ${kind}`)
    if (failure !== null && machine.troubles() === troubles && !process.isBroken)
      fail(`the builder failed to ${kind}: ${failure}`)
  }

  function moveClock(byMs: number): void {
    machine.moveClock(Math.round(byMs))
    log(`${stamp()} the clock goes ${byMs > 0 ? 'on' : 'back'}`)
  }

  async function restart(which: Victim, from: typeof backup = null): Promise<void> {
    log(`${stamp()} ${which} dies`)
    tally.restarts += 1
    if (which === 'both') path = disks.copyOf(from?.path ?? path)
    if (which !== 'builder') {
      await machine.kill(service.process)
      verdict.cutOff()
      watching = null
    }
    if (which !== 'service') {
      await machine.kill(builder.process)
      task = null
    }
    if (which === 'both') {
      await probe.close()
      if (from !== null) await markRestored(path, stamp())
      probe = await openProbe(path)
    }
    if (from !== null) {
      log(`${stamp()} the backup is restored`)
      tally.restores += 1
      await verdict.restore(probe.query, from.db)
      receivers.restore()
      payments.restore()
    }
    if (which !== 'builder') service = await startService(host())
    if (which !== 'service') builder = await startBuilder(host())
    await verdict.examine(probe.query)
    if (which !== 'builder' && current().payments.length > 0) watch()
  }

  async function executeSteps(todo: readonly Step[]): Promise<void> {
    let at = 0
    while (hasPassed()) {
      const step = todo[at]
      const hasRoom = verdict.flights.size < crowd && step?.isWilling === false
      const isNext = machine.waiting() === 0 || (hasRoom && order.happens(0.12))
      const broken = [service.process, builder.process].find(({ isBroken }) => isBroken)
      const isSubmitted = current().payments.some(({ state }) => state === 'submitted')
      if (diesAtPayment && isSubmitted) {
        diesAtPayment = false
        await restart('service')
      } else if (broken !== undefined && (machine.waiting() === 0 || order.happens(0.1))) {
        await restart(broken.name)
      } else if (step !== undefined && isNext) {
        at += 1
        await take(step, at)
        await machine.settle()
      } else if (machine.waiting() > 0) {
        const died = await machine.step()
        if (died !== null) await restart(died.name)
      } else if (step === undefined) {
        return
      }
    }
  }

  async function drain(): Promise<void> {
    await machine.settle()
    await executeSteps([])
  }

  /** Without further faults, every request that has no answer receives one. Of two at once, a payment buys one. */
  async function resend(round: number, owed: readonly PaidRead[] = []): Promise<void> {
    const unanswered = verdict
      .takeUnanswered()
      .flatMap(({ request, paid }) => request ?? paid ?? [])
    for (const one of new Set([...unanswered, ...owed])) {
      const flight = 'kind' in one ? { request: one } : { paid: one }
      const times = flight.paid === undefined || round === rounds - 1 ? 1 : 2
      for (let at = 0; at < times; at += 1)
        start({ name: `#${one.number} in round ${round}`, ...flight }, one)
      await drain()
    }
  }

  /** Repeats every unanswered paid read, then compares the ledger with the chain. */
  async function servePayers(): Promise<void> {
    for (let round = 0; round < rounds && hasPassed(); round += 1) {
      // Nothing pending can be mined afterwards.
      if (round === 2) {
        machine.setClock()
        moveClock(longestPaymentMs)
      }
      if (round === 3) moveClock(finalMs)
      watch()
      await drain()
      await resend(round, round > 1 ? payments.owed() : [])
    }
    if (verdict.takeUnanswered().length > 0) fail('a request was not answered')
    if (hasPassed()) payments.balance()
  }

  /** Every event must reach its receivers by the last attempt. */
  async function deliverWebhooks(): Promise<void> {
    receivers.calm()
    machine.setClock()
    for (let round = 0; round < rounds && hasPassed(); round += 1) {
      if (round > 0 && receivers.missing().length === 0) return
      if (round > 0) moveClock(longestRetryMs)
      work('send')
      await drain()
    }
    for (const event of receivers.missing()) fail(`an event was not delivered: ${event}`)
  }

  service = await startService(host())
  builder = await startBuilder(host())
  try {
    await executeSteps(steps)
    machine.disarm()
    await drain()
    paymentWorld.calm()
    for (const end of [() => resend(0), servePayers, deliverWebhooks]) if (hasPassed()) await end()
    for (const kind of ['expire', 'build'] as const) {
      if (hasPassed()) work(kind)
      await drain()
    }
    if (hasPassed()) await verdict.examine(probe.query)
    // The file as a machine would find it after a power cut.
    if (hasPassed()) await restart('both')
  } catch (error) {
    fail(error instanceof Error ? (error.stack ?? error.message) : String(error))
  } finally {
    await machine.kill(service.process)
    await machine.kill(builder.process)
    await probe.close()
    disks.removeAll()
  }
  tally.faults = machine.faults()
  tally.statements = machine.steps()
  for (const { event, role } of current().job_transitions) {
    if (event === 'accept') tally[role === 'clock' ? 'accepted by silence' : 'accepted'] += 1
    if (event === 'dispute') tally.disputed += 1
    if (event === 'expire') tally.expired += 1
  }
  return { problem, lines, hash: hash.digest('hex'), tally }
}
