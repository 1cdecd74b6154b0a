/** One run: executes the steps of a plan between operations of the machine and checks every effect. */
import { createHash } from 'node:crypto'

import { webhookSecret } from '../../src/outbound/standard-webhook.ts'
import { createClients } from './clients.ts'
import { openProbe } from './database-probe.ts'
import type { DatabaseProbe } from './database-probe.ts'
import { createDisks } from './disks.ts'
import { createEmails } from './emails.ts'
import { faultOf } from './faults.ts'
import { markRestored, startMs } from './installation.ts'
import type { Installation } from './installation.ts'
import { createLedgerOracle } from './ledger-oracle.ts'
import { createMachine } from './machine.ts'
import { dayMs, iso } from './model/reading.ts'
import { copyOf } from './model/state.ts'
import type { State } from './model/state.ts'
import { createPaymentWorld } from './payment-world.ts'
import { createPaymentsOracle } from './payments-oracle.ts'
import type { Step } from './plan.ts'
import { startBuilder, startService } from './processes.ts'
import type { BuilderProcess, Host, ServiceProcess } from './processes.ts'
import { countersOf, createChance, seedFor } from './random.ts'
import { createReceivers } from './receivers.ts'
import { counted } from './run-result.ts'
import type { RunResult } from './run-result.ts'
import { createTasks } from './tasks.ts'
import { createWebhooksOracle } from './webhooks-oracle.ts'
import { createWindDown } from './wind-down.ts'

const minuteMs = 60_000

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
  const order = createChance(seedFor(seed, 'order'))
  const machine = createMachine({
    chance: order,
    startMs,
    log,
    committed: ({ name }) => oracle.observe(probe, name === 'builder' ? tasks.current() : null),
  })
  const crowd = order.pick([1, 2, 4, 8, 16] as const)
  const disks = createDisks(installation.dir, seed)
  let generation = 0
  let path = disks.copyOf(installation.emptyDatabase)
  let probe: DatabaseProbe = await openProbe(path)
  let backup: { readonly path: string; readonly state: State } | null = null
  let problem: string | null = null
  let service: ServiceProcess
  let builder: BuilderProcess
  const secretOf = (id: string) => webhookSecret(installation.keyedHash, id)
  const { people } = installation
  const paymentWorld = createPaymentWorld({
    seed,
    machine,
    people,
    log,
    handedOver: (authorization, txHash) => paymentsOracle.handedOver(authorization, txHash),
  })
  const paymentsOracle = createPaymentsOracle({ paymentWorld, fail, log })
  const { nowMs } = machine
  const webhooks = createWebhooksOracle({ fail, log, secretOf, nowMs, tally })
  const receivers = createReceivers({
    machine,
    chance: createChance(seedFor(seed, 'receivers')),
    ...webhooks,
  })
  const emails = createEmails({
    machine,
    chance: createChance(seedFor(seed, 'emails')),
    keyedHash: installation.keyedHash,
    fail,
  })
  const oracle = createLedgerOracle({
    log,
    fail,
    secretOf,
    tally,
    paymentsOracle,
    webhooks,
    emails,
  })
  const tasks = createTasks({ machine, oracle, tally, log, fail })
  const clients = createClients({
    machine,
    installation,
    oracle,
    paymentWorld,
    emails,
    service: () => service,
    log,
  })

  function fail(what: string): void {
    log(`WRONG: ${what}`)
    problem ??= what
  }

  function hasPassed(): boolean {
    return problem === null
  }

  function host(): Host {
    generation += 1
    const isPatient = createChance(seedFor(seed, `patience ${generation}`)).happens(0.5)
    const troubles = machine.troubles()
    const fault = (said: string): void => {
      if (machine.troubles() === troubles) fail(`the program failed by itself: ${said}`)
    }
    return {
      machine,
      installation,
      paymentWorld,
      receivers,
      emails,
      path,
      seed,
      generation,
      isPatient,
      fault,
    }
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
        return moveClock(hours * 60 * minuteMs + chance.below(1000))
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
        backup = { path: disks.copyOf(path), state: copyOf(oracle.state()) }
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
        return clients.buy(number, chance)
      case 'watch':
        return watch()
      case 'stranger':
        return paymentWorld.stranger(chance)
      case 'fork':
        return paymentWorld.chain.fork()
      case 'look':
        return clients.look(number, chance)
      case 'again':
        return clients.askAgain(number, chance)
      default:
        return await clients.ask(kind, { number, chance, isWilling })
    }
  }

  /** A round of the payment watch, which runs at the start and every minute. */
  function watch(): void {
    const { process } = service
    if (paymentsOracle.watcher() !== null) return
    log(`${stamp()} payments are looked after`)
    paymentsOracle.watchBegins(process)
    void service.watch().then(() => paymentsOracle.watchEnds(process))
  }

  function moveClock(byMs: number): void {
    machine.moveClock(Math.round(byMs))
    log(`${stamp()} the clock goes ${byMs > 0 ? 'on' : 'back'}`)
  }

  async function restart(
    which: 'service' | 'builder' | 'both',
    from: { readonly path: string; readonly state: State } | null = null,
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
        log(`${stamp()} the backup is put back`)
        tally.restores += 1
        await oracle.putBack(probe, from.state, machine.nowMs())
      }
    }
    if (which !== 'builder') service = await startService(host())
    if (which !== 'service') builder = await startBuilder(host())
    await oracle.examine(probe)
    if (which !== 'builder' && oracle.state().payments.size > 0) watch()
  }

  /** Checks the file as a machine would find it after a power cut. */
  async function loseAll(): Promise<void> {
    path = disks.copyOf(path)
    await probe.close()
    probe = await openProbe(path)
    await oracle.examine(probe)
  }

  /** Runs waiting operations and takes steps until there are none left. */
  async function run(todo: readonly Step[], first: number): Promise<void> {
    let at = 0
    while (hasPassed()) {
      const canStep = at < todo.length
      const hasRoom = oracle.flights.size < crowd
      const isPatient = todo[at]?.isWilling === true
      const mayStep =
        canStep && (machine.waiting() === 0 || (hasRoom && !isPatient && order.happens(0.12)))
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

  const { resendUnanswered, servePayers, deliverWebhooks } = createWindDown({
    machine,
    paymentWorld,
    receivers,
    emails,
    oracle,
    paymentsOracle,
    webhooks,
    clients,
    fail,
    hasPassed,
    moveClock,
    watch,
    tell: () => tasks.start(builder, 'tell', stamp()),
    run: () => run([], 0),
  })

  service = await startService(host())
  builder = await startBuilder(host())
  try {
    await run(steps, 0)
    machine.disarm()
    await run([], 0)
    if (hasPassed()) await resendUnanswered()
    if (hasPassed()) await servePayers()
    if (hasPassed()) await deliverWebhooks()
    for (const kind of ['expire', 'build'] as const) {
      if (!hasPassed()) break
      tasks.start(builder, kind, stamp())
      await machine.settle()
      await run([], 0)
    }
    if (hasPassed()) await oracle.examine(probe)
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
  const claims = [...oracle.state().claims.values()]
  tally['claimed by letter'] = claims.filter(({ email }) => email !== null).length
  for (const [, event, role] of oracle.state().moves) {
    if (event === 'accept') tally[role === 'clock' ? 'accepted by silence' : 'accepted'] += 1
    if (event === 'dispute') tally.disputed += 1
    if (event === 'expire') tally.expired += 1
  }
  return { problem, lines, hash: hash.digest('hex'), tally }
}
