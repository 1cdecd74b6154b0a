/** One run: the steps of a plan, taken while the machine lets one thing go after the other, and all of it judged. */
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { z } from 'zod'

import { send } from './call.ts'
import type { Answer, Call } from './call.ts'
import { compareDump } from './compare.ts'
import { compareDocuments } from './documents.ts'
import { dumpSql, newsSql, openEye, soundSql } from './eye.ts'
import type { Eye } from './eye.ts'
import { startMs } from './installation.ts'
import type { Installation } from './installation.ts'
import { isSame, misfit } from './likeness.ts'
import { createMachine } from './machine.ts'
import type { Fault, FaultKind, Process, Stage } from './machine.ts'
import { heldKey, judge, moveByClock, usedKey } from './model.ts'
import type { Verdict } from './model.ts'
import type { Step } from './plan.ts'
import { startBuilder, startService } from './processes.ts'
import type { BuilderProcess, Host, ServiceProcess } from './processes.ts'
import { countersOf, createChance, seedFor } from './random.ts'
import type { Chance } from './random.ts'
import { again, request } from './requests.ts'
import type { Sent } from './requests.ts'
import { copyOf, dayMs, emptyState, iso, statusAt } from './state.ts'
import type { State } from './state.ts'

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

/** A request under way. */
interface Flight {
  readonly name: string
  readonly sent: Sent | null
  /** What a read must be answered with, in a state; null where it must not be found. */
  readonly look: ((state: State, nowMs: number) => object | null) | null
  readonly nowMs: number
  readonly fromVersion: number
  /** How many there had been when all was well last. */
  readonly troubles: number
  /** A change of the endpoint was refused because another came first, and that is in the history. */
  lostRace: boolean
}

/** A request that took effect: the rows are there, and one of the requests that asked for it may say so first. */
interface Effect {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
  readonly flights: ReadonlySet<Flight>
  isTold: boolean
}

const anyBody = z.record(z.string(), z.unknown())
const text = z.string()
const news = z.object({
  used: z.array(z.tuple([text, text, text, z.number(), anyBody])),
  keys: z.array(z.tuple([text, text, text, z.number(), anyBody, text])),
  feedback: z.array(z.tuple([text, text, text])),
  proposals: z.array(z.tuple([text, text, text])),
  audit: z.array(z.tuple([z.number(), text, text.nullable(), text, text, text])),
  moves: z.array(z.tuple([z.number(), text, text])),
  issued: z.array(z.tuple([text, text])),
  last: z.array(z.number()),
})
type News = z.infer<typeof news>

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
    committed: (process) => observe(process),
  })
  const crowd = order.pick([1, 2, 4, 8, 16] as const)
  const files: string[] = []
  let generation = 0
  let path = newPath()
  copyFileSync(installation.emptyDatabase, path)
  let eye: Eye = await openEye(path)
  let last: readonly number[] = [0, 0, 0, 0, 0, 0]
  let state = emptyState()
  const versions: State[] = [copyOf(state)]
  const effects: Effect[] = []
  const effective = new Set<Flight>()
  const flights = new Set<Flight>()
  const sentBefore: Sent[] = []
  const unsettled: Sent[] = []
  let task: { readonly kind: string; readonly nowMs: number } | null = null
  let lostRaces = 0
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

  // What is in the file is looked at after every commit, before the program hears of it.

  async function observe(process: Process): Promise<void> {
    const found = news.parse(await eye.json(newsSql, last))
    last = found.last
    const told = new Set<string>()
    for (const [wallet, sha, requestSha, status, body] of found.used) {
      if (told.has(`${wallet} ${sha}`)) continue
      const proof = `${wallet} ${sha}`
      const audit = found.audit.find(([, by, , , message]) => by === wallet && message === sha)
      noteLostRaces(found, audit?.[0] ?? 0)
      const candidates = [...flights].filter(
        ({ sent, nowMs }) =>
          sent?.requestSha === requestSha &&
          sent.proofs.some((one) => usedKey(one) === proof) &&
          (audit === undefined || audit[5] === iso(nowMs)),
      )
      const flight = takeEffect(candidates, { status, body }, `message ${sha.slice(0, 8)}`)
      for (const one of flight?.sent?.proofs ?? []) told.add(usedKey(one))
    }
    noteUnsigned(found)
    noteLostRaces(found, Infinity)
    for (const [, job, event] of found.moves) {
      const [receiptId = null] = found.issued.find(([, of]) => of === job) ?? []
      const what = moveByClock(state, { job, event, receiptId }, task?.nowMs ?? Number.NaN)
      if (what !== null) wrong(`${event} of ${job} by the clock: ${what}`)
      versions.push(copyOf(state))
      log(`    ${event} of ${job} by the clock`)
    }
    if (process.name === 'builder' && task?.kind === 'tidy') {
      const nowMs = task.nowMs
      for (const kept of [state.used, state.keys]) {
        for (const [key, { untilMs }] of kept) if (untilMs <= nowMs) kept.delete(key)
      }
      versions.push(copyOf(state))
    }
  }

  /** Who came second to an endpoint is in the history all the same; those before a row of it, in its order. */
  function noteLostRaces(found: News, before: number): void {
    for (const [seq, wallet, handle, action, message, createdAt] of found.audit) {
      if (action !== 'updateAttestationEndpoint.conflict' || seq >= before || seq <= lostRaces)
        continue
      lostRaces = seq
      const flight = [...flights].find(
        ({ sent, nowMs }) =>
          sent?.proofs.some(({ sha }) => sha === message) === true && iso(nowMs) === createdAt,
      )
      if (flight === undefined) wrong('a lost race is in the history that nobody ran')
      else flight.lostRace = true
      state.audit.push(['write', wallet, handle, action, createdAt])
      versions.push(copyOf(state))
    }
  }

  /** Writes without a wallet are known by the key they carry, or by their words. */
  function noteUnsigned(found: News): void {
    const fresh = found.keys.filter(([caller, key, requestSha, , , expiresAt]) => {
      const kept = state.keys.get(`${caller} ${key}`)
      return kept?.requestSha !== requestSha || iso(kept.untilMs) !== expiresAt
    })
    const isUnsigned = ({ sent }: Flight): boolean => sent !== null && sent.proofs.length === 0
    const unsigned = [...flights].filter(isUnsigned)
    const holding = ([caller, key, requestSha, , , expiresAt]: News['keys'][number]) =>
      unsigned.filter(
        ({ sent, nowMs }) =>
          sent !== null &&
          heldKey(sent) === `${caller} ${key}` &&
          sent.requestSha === requestSha &&
          iso(nowMs + dayMs) === expiresAt,
      )
    for (const [id, words, createdAt] of [...found.feedback, ...found.proposals]) {
      const isFeedback = id.startsWith('fbk_')
      const keyed = fresh.find(
        ([, , , status, body]) =>
          status !== 200 && (body['feedback_id'] ?? body['proposal_id']) === id,
      )
      const candidates =
        keyed === undefined
          ? unsigned.filter(
              ({ sent, nowMs }) =>
                sent !== null &&
                sent.key === null &&
                'text' in sent.intent &&
                sent.intent.text === words &&
                iso(nowMs) === createdAt,
            )
          : holding(keyed)
      const body = isFeedback
        ? { feedback_id: id, deduplicated: false }
        : { proposal_id: id, slug: slugOf(candidates[0]), status: 'pending' }
      takeEffect(candidates, { status: isFeedback ? 201 : 202, body }, `words "${words}"`)
    }
    for (const held of fresh) {
      const [caller, key, requestSha, status, body, expiresAt] = held
      const kept = state.keys.get(`${caller} ${key}`)
      if (kept?.requestSha === requestSha && iso(kept.untilMs) === expiresAt) continue
      takeEffect(holding(held), { status, body }, `key ${key}`)
    }
  }

  /** The candidate that the rows belong to, after the model has written the same. */
  function takeEffect(
    candidates: readonly Flight[],
    answer: { readonly status: number; readonly body: Effect['body'] },
    what: string,
  ): Flight | null {
    let reason = 'nobody asked for it'
    for (const flight of candidates) {
      const { sent, nowMs } = flight
      if (sent === null || effective.has(flight)) continue
      const verdict = judge(state, sent, nowMs)
      const unfit = verdict.kind === 'taken' ? misfitOf(verdict, answer) : tell(verdict)
      if (unfit !== null || verdict.kind !== 'taken') {
        reason = `${flight.name}: ${unfit ?? ''}`
        continue
      }
      verdict.write(state, answer.body)
      versions.push(copyOf(state))
      const twins = candidates.filter((one) => one.sent?.requestSha === sent.requestSha)
      effects.push({ ...answer, flights: new Set(twins), isTold: false })
      effective.add(flight)
      log(`    ${flight.name} is in the ledger`)
      return flight
    }
    wrong(`rows of ${what} that should not be: ${reason}`)
    return null
  }

  // What is answered.

  function start(
    flight: Omit<Flight, 'nowMs' | 'fromVersion' | 'troubles' | 'lostRace'>,
    call: Call,
  ) {
    // Whoever comes while others still suffer from a trouble may suffer with them.
    if (flights.size === 0) calm = machine.troubles()
    const under: Flight = {
      ...flight,
      nowMs: machine.nowMs(),
      fromVersion: versions.length - 1,
      troubles: calm,
      lostRace: false,
    }
    tally.requests += 1
    flights.add(under)
    const { process, server } = service
    send(server, call, (answer) => {
      if (!process.isAlive || !flights.has(under)) return
      flights.delete(under)
      judgeAnswer(under, answer, process)
    })
  }

  function judgeAnswer(flight: Flight, answer: Answer, process: Process): void {
    const { status, body } = answer
    const code = typeof body['code'] === 'string' ? body['code'] : null
    log(`${flight.name} is answered ${status}${code === null ? '' : ` ${code}`}`)
    if (status >= 500) {
      tally.unanswered += 1
      const isExcused = process.isBroken || machine.troubles() > flight.troubles
      if (!isExcused) wrong(`${flight.name} was answered ${status} although nothing was wrong`)
      if (flight.sent !== null) unsettled.push(flight.sent)
      return
    }
    const window = versions.slice(flight.fromVersion)
    if (flight.look !== null) {
      const { look } = flight
      const misfits = window.map((seen) => {
        const wanted = look(seen, flight.nowMs)
        if (wanted === null) return status === 404 ? null : `answered ${status}, and not 404`
        return status === 200 ? misfit(wanted, body) : `answered ${status}, and not 200`
      })
      if (!misfits.includes(null)) wrong(`${flight.name}: ${misfits.at(-1) ?? ''}`)
      return
    }
    const { sent } = flight
    if (sent === null) return
    const effect = effects.find(
      (one) =>
        !one.isTold && one.flights.has(flight) && one.status === status && isSame(one.body, body),
    )
    if (effect !== undefined) {
      effect.isTold = true
      tally.taken += 1
      return
    }
    const verdicts = window.map((seen) => judge(seen, sent, flight.nowMs))
    const isRight = verdicts.some((verdict) =>
      verdict.kind === 'repeat'
        ? verdict.status === status && isSame(verdict.body, body)
        : verdict.kind === 'refused' && code !== null && verdict.codes.includes(code),
    )
    if (isRight || (flight.lostRace && code === 'conflict')) {
      if (code === null) tally.repeats += 1
      else tally.refused += 1
      return
    }
    const wanted = [...new Set(verdicts.map(tell))].join(' or ')
    wrong(`${flight.name} was answered ${status} ${code ?? ''}, and not: ${wanted}`)
  }

  // What happens.

  async function take(step: Step, number: number): Promise<void> {
    const chance = createChance(step.salt)
    const { kind } = step
    // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- the others are requests.
    switch (kind) {
      case 'tick':
        moveClock(1 + chance.below(60_000))
        return
      case 'leap':
        moveClock(chance.pick([1.1, 7.3, 26, 15 * 24] as const) * 3_600_000 + chance.below(1000))
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
        const isUnderWay = [...flights].some((flight) => flight.sent?.raw === sent.raw)
        if (sent.proofs.length === 0 && isUnderWay) return
        post(again(sent, number, chance.happens(0.2)), `again #${sent.number}`)
        return
      }
      default: {
        const { reference } = installation
        const remoteKey = (address: string) => installation.keyedHash('remote', address)
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
    const ids = [...state[what].keys()]
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
    const from = versions.length - 1
    const troubles = machine.troubles()
    const mine = { kind, nowMs }
    task = mine
    log(`${stamp()} the builder begins to ${kind}`)
    const work = {
      build: async () => {
        const documents = await build(nowMs)
        if (!process.isAlive) return
        tally.builds += 1
        for (const unfit of compareDocuments(documents, versions.slice(from), nowMs)) {
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
      await work()
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

  async function restart(which: 'service' | 'builder' | 'both'): Promise<void> {
    log(`${stamp()} ${which === 'both' ? 'all processes die' : `the ${which} dies`}`)
    tally.restarts += 1
    const isPower = which === 'both'
    if (isPower) path = copyOfDisk()
    if (which !== 'builder') {
      await machine.kill(service.process)
      for (const { sent } of flights) {
        tally.unanswered += 1
        if (sent !== null) unsettled.push(sent)
      }
      flights.clear()
    }
    if (which !== 'service') {
      await machine.kill(builder.process)
      task = null
    }
    if (isPower) {
      await eye.close()
      eye = await openEye(path)
    }
    if (which !== 'builder') service = await startService(host())
    if (which !== 'service') builder = await startBuilder(host())
    await examine()
  }

  /** As the disk has it at this moment, with whatever was not yet moved from the log into the file. */
  function copyOfDisk(): string {
    const next = newPath()
    for (const end of ['', '-wal']) {
      if (existsSync(`${path}${end}`)) copyFileSync(`${path}${end}`, `${next}${end}`)
    }
    return next
  }

  /** Looks at what a machine would find that starts with this disk. */
  async function loseAll(): Promise<void> {
    path = copyOfDisk()
    await eye.close()
    eye = await openEye(path)
    await examine()
  }

  async function examine(): Promise<void> {
    for (const unfit of compareDump(await eye.json(dumpSql), state)) wrong(`in the file: ${unfit}`)
    const sound = z.record(z.string(), z.number()).parse(await eye.json(soundSql))
    for (const [what, count] of Object.entries(sound)) {
      if (count !== 0) wrong(`in the file: ${count} ${what}`)
    }
  }

  /** Lets things go, and takes steps in between, until there is nothing left of either. */
  async function run(todo: readonly Step[], first: number): Promise<void> {
    let at = 0
    while (isWell()) {
      const canStep = at < todo.length
      const hasRoom = flights.size < crowd
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
    const open = unsettled.splice(0)
    for (const [at, sent] of open.entries()) {
      post(again(sent, 1000 + at, false), `again #${sent.number}`)
      await machine.settle()
      await run([], 0)
    }
    // Some of these came while the lock of the file was held; there is nobody now who holds it.
    if (problem === null && unsettled.length > 0) wrong('a repeat was not answered')
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
    if (problem === null) await examine()
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

function slugOf(flight: Flight | undefined): string {
  const intent = flight?.sent?.intent
  return intent?.kind === 'propose' ? intent.slug : ''
}

function misfitOf(
  verdict: Extract<Verdict, { readonly kind: 'taken' }>,
  answer: { readonly status: number; readonly body: Effect['body'] },
): string | null {
  if (verdict.status !== answer.status) return `status ${answer.status}, and not ${verdict.status}`
  return misfit(verdict.answer, answer.body)
}

function tell(verdict: Verdict): string {
  if (verdict.kind === 'refused') return `refused as ${verdict.codes.join(' or ')}`
  return `${verdict.kind} with ${verdict.status}`
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
