/** One run: executes the steps of a plan between operations of the machine and checks every effect. */
import { createHash } from 'node:crypto'

import { createClients } from './clients.ts'
import { createDisks } from './disks.ts'
import { faultOf } from './faults.ts'
import { markRestored, startMs } from './installation.ts'
import type { Installation } from './installation.ts'
import { createMachine } from './machine.ts'
import { createEmails } from './oracle/emails.ts'
import { dayMs, hourMs, iso, minuteMs } from './oracle/facts.ts'
import { createLedgerOracle } from './oracle/ledger.ts'
import type { LedgerOracle } from './oracle/ledger.ts'
import { createPaymentsOracle } from './oracle/payments.ts'
import { openProbe } from './oracle/snapshot.ts'
import type { Snapshot } from './oracle/snapshot.ts'
import { createWebhooksOracle } from './oracle/webhooks.ts'
import { createPaymentWorld } from './payment-world.ts'
import type { Step } from './plan.ts'
import { startBuilder, startService } from './processes.ts'
import type { BuilderProcess, Host, ServiceProcess } from './processes.ts'
import { countersOf, createChance, seedFor } from './random.ts'
import { createReceivers } from './receivers.ts'
import { counted } from './run.ts'
import type { Run, RunResult } from './run.ts'
import { createTasks } from './tasks.ts'
import { windDown } from './wind-down.ts'

interface Backup {
  readonly path: string
  readonly db: Snapshot
}

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
  let generation = 0
  let path = disks.copyOf(installation.emptyDatabase)
  let probe = await openProbe(path)
  let backup: Backup | null = null
  let problem: string | null = null
  let service: ServiceProcess
  let builder: BuilderProcess
  /** True until the service dies between the record of a payment and its settlement, in half of the runs. */
  let diesAtPayment = chanceFor('death at a payment').happens(0.5)
  /** States after writes of the open transaction. */
  let between: Snapshot[] = []

  const machine = createMachine({
    chance: order,
    startMs,
    log,
    discarded: () => {
      between = []
    },
    released: async (connection) => {
      between.push(await oracle.reader.read((sql) => connection.reallyAll(sql)))
    },
    committed: async ({ name }) => {
      const states = between
      between = []
      await oracle.observe(probe.query, states, name === 'builder' ? tasks.current() : null)
    },
  })
  const run: Run = { seed, machine, installation, chanceFor, log, fail, tally }
  const current = (): Snapshot => oracle.db()
  const paymentWorld = createPaymentWorld(run, (authorization, txHash) =>
    paymentsOracle.handedOver(authorization, txHash),
  )
  const paymentsOracle = createPaymentsOracle(run, paymentWorld, current)
  const webhooks = createWebhooksOracle(run, current)
  const receivers = createReceivers(run, webhooks)
  const emails = createEmails(run)
  const oracle: LedgerOracle = await createLedgerOracle(run, probe.query, {
    payments: paymentsOracle,
    webhooks,
    emails,
  })
  const tasks = createTasks(run, oracle)
  const clients = createClients(run, { oracle, paymentWorld, emails, service: () => service })

  function fail(what: string): void {
    log(`WRONG: ${what}`)
    problem ??= what
  }

  function hasPassed(): boolean {
    return problem === null
  }

  function host(): Host {
    generation += 1
    const isPatient = chanceFor(`patience ${generation}`).happens(0.5)
    const troubles = machine.troubles()
    const fault = (text: string): void => {
      if (machine.troubles() === troubles) fail(`the program failed by itself: ${text}`)
    }
    return { ...run, paymentWorld, receivers, emails, path, generation, isPatient, fault }
  }

  function stamp(): string {
    return iso(machine.nowMs())
  }

  async function take(step: Step, number: number): Promise<void> {
    const chance = createChance(step.salt)
    const { kind, isWilling } = step
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
        const fault = faultOf(chance)
        const where = `${fault.stage} of the ${fault.process}, after ${fault.skip}`
        log(`${stamp()} #${number} to come: ${fault.kind} at ${where}`)
        return machine.arm(fault)
      }
      case 'kill service':
        return await restart('service')
      case 'kill builder':
        return await restart('builder')
      case 'power':
        return await restart('both')
      case 'back up':
        backup = { path: disks.copyOf(path), db: oracle.db() }
        return log(`${stamp()} a backup is made`)
      case 'put back':
        return backup === null ? undefined : await restart('both', backup)
      case 'build':
      case 'expire':
      case 'tidy':
      case 'poll':
      case 'tell':
        return tasks.start(builder, kind, stamp())
      case 'buy':
        return clients.buy({ number, chance })
      case 'watch':
        return watch()
      case 'stranger':
        return paymentWorld.stranger(chance)
      case 'fork':
        return paymentWorld.chain.fork()
      case 'look':
        return clients.look({ number, chance })
      case 'again':
        return clients.repeat({ number, chance })
      default:
        return await clients.ask(kind, isWilling, { number, chance })
    }
  }

  /** A round of the payment watch, which runs at the start and every minute. */
  function watch(): void {
    const { process } = service
    if (paymentsOracle.isWatched()) return
    log(`${stamp()} the payment watch begins`)
    paymentsOracle.watchBegins(process)
    void service.watch().then(() => paymentsOracle.watchEnds(process))
  }

  function moveClock(byMs: number): void {
    machine.moveClock(Math.round(byMs))
    log(`${stamp()} the clock goes ${byMs > 0 ? 'on' : 'back'}`)
  }

  async function restart(
    which: 'service' | 'builder' | 'both',
    from: Backup | null = null,
  ): Promise<void> {
    log(`${stamp()} ${which === 'both' ? 'all processes die' : `the ${which} dies`}`)
    tally.restarts += 1
    const isPower = which === 'both'
    if (isPower) path = disks.copyOf(from?.path ?? path)
    if (which !== 'builder') {
      await machine.kill(service.process)
      oracle.cutOff()
      paymentsOracle.watchEnds(service.process)
    }
    if (which !== 'service') {
      await machine.kill(builder.process)
      tasks.drop()
    }
    if (isPower) {
      await probe.close()
      if (from !== null) await markRestored(path, iso(machine.nowMs()))
      probe = await openProbe(path)
      if (from !== null) {
        log(`${stamp()} the backup is restored`)
        tally.restores += 1
        await oracle.restore(probe.query, from.db)
      }
    }
    if (which !== 'builder') service = await startService(host())
    if (which !== 'service') builder = await startBuilder(host())
    await oracle.examine(probe.query)
    if (which !== 'builder' && oracle.db().payments.length > 0) watch()
  }

  /** Checks the file as a machine would find it after a power cut. */
  async function loseAll(): Promise<void> {
    path = disks.copyOf(path)
    await probe.close()
    probe = await openProbe(path)
    await oracle.examine(probe.query)
  }

  async function executeSteps(todo: readonly Step[], first: number): Promise<void> {
    let at = 0
    while (hasPassed()) {
      const canStep = at < todo.length
      const hasRoom = oracle.flights.size < crowd
      const isPatient = todo[at]?.isWilling === true
      const mayStep =
        canStep && (machine.waiting() === 0 || (hasRoom && !isPatient && order.happens(0.12)))
      const broken = [service.process, builder.process].find(({ isBroken }) => isBroken)
      const isSubmitted = oracle.db().payments.some(({ state }) => state === 'submitted')
      if (diesAtPayment && isSubmitted) {
        diesAtPayment = false
        await restart('service')
      } else if (broken !== undefined && (machine.waiting() === 0 || order.happens(0.1))) {
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

  service = await startService(host())
  builder = await startBuilder(host())
  try {
    await executeSteps(steps, 0)
    machine.disarm()
    await executeSteps([], 0)
    await windDown(run, {
      paymentWorld,
      receivers,
      emails,
      oracle,
      paymentsOracle,
      webhooks,
      clients,
      hasPassed,
      moveClock,
      watch,
      deliver: () => tasks.start(builder, 'tell', stamp()),
      drain: () => executeSteps([], 0),
    })
    for (const kind of ['expire', 'build'] as const) {
      if (!hasPassed()) break
      tasks.start(builder, kind, stamp())
      await machine.settle()
      await executeSteps([], 0)
    }
    if (hasPassed()) await oracle.examine(probe.query)
    if (hasPassed()) await loseAll()
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
  const { claims, job_transitions: transitions } = oracle.db()
  tally['claimed by e-mail'] = claims.filter((row) => row.email_hash !== null).length
  for (const { event, role } of transitions) {
    if (event === 'accept') tally[role === 'clock' ? 'accepted by silence' : 'accepted'] += 1
    if (event === 'dispute') tally.disputed += 1
    if (event === 'expire') tally.expired += 1
  }
  return { problem, lines, hash: hash.digest('hex'), tally }
}
