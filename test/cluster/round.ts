/** One round: clients write to all replicas while processes are killed; the verdict of the simulation judges every write. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import { loadReference } from '../../src/actions/reference.ts'
import { keyedHashOf } from '../../src/auth/keyed-hash.ts'
import { createSemaphore } from '../../src/core/concurrency.ts'
import { openDatabase } from '../../src/db/open.ts'
import type { Answer, Call } from '../simulation/http-call.ts'
import { planOf } from '../simulation/plan.ts'
import { countersOf, createChance, seedFor } from '../simulation/random.ts'
import { drawRequest, kinds, platformKey, repeatRequest } from '../simulation/requests.ts'
import type { Kind, SimulatedRequest } from '../simulation/requests.ts'
import { judged } from '../simulation/run.ts'
import { compareDocuments, drawRead } from '../simulation/verdict/documents.ts'
import { violatedInvariants } from '../simulation/verdict/invariants.ts'
import { createLedgerVerdict } from '../simulation/verdict/ledger.ts'
import type { Flight } from '../simulation/verdict/ledger.ts'
import { openProbe } from '../simulation/verdict/snapshot.ts'
import type { Change } from '../simulation/verdict/snapshot.ts'
import { newPostgresDatabase } from '../support/new-database.ts'
import type { Program } from '../support/program.ts'
import { withPlatform } from '../support/receipts.ts'
import { openCommitLog } from './commit-log.ts'
import { ask, get } from './http-client.ts'
import { startCluster } from './processes.ts'

const crowd = 12
const leaseMs = 15_000
/** Within this time after the last fault, the next set must be published and every request answered. */
const recoveryMs = 60_000
const documentPaths = ['/stats/live', '/receipts', '/workers', '/jobs', '/leaderboard']
const keyedHash = keyedHashOf(new Uint8Array(32).fill(9))

export const counted = [
  ...judged,
  'operations',
  'attempts',
  'unavailable',
  'cut',
  'kills of services',
  'kills of builders',
  'pauses',
  'commits',
  'sets compared',
] as const

export interface RoundResult {
  readonly differences: readonly string[]
  readonly lines: readonly string[]
  readonly tally: Readonly<Record<(typeof counted)[number], number>>
}

export async function runRound(
  program: Program,
  { seed, forMs, server }: { seed: number; forMs: number; server: string },
): Promise<RoundResult> {
  const differences: string[] = []
  const lines: string[] = []
  const tally = countersOf(counted)
  const log = (line: string): void => {
    lines.push(line)
  }
  const fail = (what: string): void => {
    log(`WRONG: ${what}`)
    differences.push(what)
  }
  const chanceFor = (purpose: string) => createChance(seedFor(seed, purpose))
  const nowMs = Date.now()
  const url = await newPostgresDatabase(server)
  await (await openDatabase({ url })).close()
  const commits = await openCommitLog(url)
  const cluster = await startCluster(program, { url, nowMs, fail })
  const reference = withPlatform(await loadReference('data'), platformKey)
  const verdict = await createLedgerVerdict(
    { log, fail, tally, machine: { nowMs: () => nowMs } },
    commits.query,
    { watchers: [], answeredPaid: () => 'later' },
  )
  const taking = createSemaphore(1)
  const requests: SimulatedRequest[] = []
  let lastFaultMs = 0
  let turn = 0
  let isOver = false
  const goesOn = (): boolean => !isOver && differences.length === 0

  const observe = async (): Promise<void> => {
    tally.commits += 1
    await verdict.observe(commits.query, [], isOfBuilder)
  }
  const take = async (): Promise<void> => await taking.run(() => commits.take(observe))

  const nextPort = (): number => {
    turn += 1
    return cluster.ports[turn % cluster.ports.length] ?? 0
  }

  /** Sends the same bytes to one replica after another until one of them answers. */
  async function settle(
    flight: Pick<Flight, 'name'> & Partial<Flight>,
    call: Call,
    port = nextPort,
  ): Promise<void> {
    tally.operations += 1
    const startedMs = performance.now()
    for (;;) {
      tally.attempts += 1
      const begun = verdict.begin({ ...flight, nowMs, troubles: 0 })
      const answer = await ask(port(), call)
      await take()
      if (answer !== null && answer.status < 500) {
        verdict.answered(begun, answer, false)
        return
      }
      if (answer === null) tally.cut += 1
      else tally.unavailable += 1
      if (answer !== null && ![502, 503, 504].includes(answer.status)) {
        fail(`${flight.name} was answered ${answer.status} ${JSON.stringify(answer.body)}`)
      }
      const quietMs = performance.now() - Math.max(startedMs, lastFaultMs)
      if (quietMs > recoveryMs) {
        fail(`${flight.name} has no answer ${Math.round(quietMs)} ms after the last fault`)
        return
      }
      await delay(50)
    }
  }

  async function write(request: SimulatedRequest, how = ''): Promise<void> {
    const name = `#${request.number} ${request.kind} ${how} ${request.key ?? ''}`
    await settle({ name, request }, request)
  }

  async function look(chance = chanceFor('look'), port = nextPort): Promise<void> {
    const read = drawRead(chance, verdict.db(), nowMs)
    if (read === null) return
    const { path, isShown } = read
    const call = { method: 'GET', path, headers: {}, raw: '', address: '192.0.2.9' }
    await settle({ name: `read ${path}`, isShown }, call, port)
  }

  function* steps() {
    for (let plan = 0; ; plan += 1) yield* planOf(seed * 1000 + plan)
  }
  const plan = steps()
  let number = 0

  async function client(): Promise<void> {
    while (goesOn()) {
      const { value: step } = plan.next()
      if (step === undefined) return
      const { kind, isWilling } = step
      const chance = createChance(step.salt)
      number += 1
      if (kind === 'look') await look(chance)
      else if (kind === 'again') await repeat(chance)
      else if (isKind(kind)) await draw(kind, isWilling, chance)
    }
  }

  async function repeat(chance: ReturnType<typeof createChance>): Promise<void> {
    const earlier = requests[chance.below(requests.length)]
    if (earlier === undefined) return
    const isUnderWay = [...verdict.flights].some((flight) => flight.request?.raw === earlier.raw)
    if (earlier.signedAtMs === null && isUnderWay) return
    const again = repeatRequest(earlier, number, chance.happens(0.2))
    await write(again, `again #${earlier.number}`)
  }

  async function draw(
    kind: Kind,
    isWilling: boolean,
    chance: ReturnType<typeof createChance>,
  ): Promise<void> {
    const at = { number, kind, nowMs, reference, chance, isWilling, keyedHash }
    const request = await drawRequest({ ...at, db: verdict.db() })
    if (request === null) return
    requests.push(request)
    await write(request)
  }

  async function disturb(): Promise<void> {
    const chance = chanceFor('faults')
    const open = new Set<Promise<void>>()
    while (goesOn()) {
      await delay(500 + chance.below(3000))
      const member = chance.pick(cluster.members)
      const signal = chance.happens(0.75) ? 'SIGKILL' : 'SIGSTOP'
      if (member === undefined || !member.isUp() || isOver || open.size > 2) continue
      // A paused builder may lose its lease, and a paused service its transaction.
      const pauseMs = member.isService ? 6000 : leaseMs + 3000
      const forMs = chance.below(signal === 'SIGKILL' ? 2000 : pauseMs)
      log(`${signal} for ${forMs} ms to ${member.name}`)
      lastFaultMs = performance.now() + forMs
      if (signal === 'SIGSTOP') tally.pauses += 1
      else tally[member.isService ? 'kills of services' : 'kills of builders'] += 1
      const disturbed = member.disturb(signal, forMs)
      open.add(disturbed)
      void settled(disturbed, open)
    }
    await Promise.all(open)
  }

  async function settled(disturbed: Promise<void>, open: Set<Promise<void>>): Promise<void> {
    await disturbed
    lastFaultMs = performance.now()
    open.delete(disturbed)
  }

  /** Samples a set during the round: each of its values must have been true at some time. */
  async function readSets(): Promise<void> {
    while (goesOn()) {
      await delay(1000)
      const problems = await problemsOfSet(nextPort(), 'any')
      for (const problem of problems ?? []) fail(`a published document: ${problem}`)
    }
  }

  /** Null if a document is not available. */
  async function problemsOfSet(
    port: number,
    which: 'any' | 'last',
  ): Promise<readonly string[] | null> {
    const found: [string, Answer | null][] = await Promise.all(
      documentPaths.map(async (path) => [`/api/v1${path}`, await get(port, `/api/v1${path}`)]),
    )
    if (found.some(([, answer]) => answer?.status !== 200)) return null
    await take()
    const states = which === 'last' ? [verdict.db()] : verdict.versions
    const documents = new Map<string, unknown>(found.map(([path, answer]) => [path, answer?.body]))
    tally['sets compared'] += 1
    return compareDocuments(documents, states, nowMs)
  }

  async function expectReplicasAgree(): Promise<void> {
    for (const port of cluster.ports) {
      const chance = chanceFor(`reads of ${port}`)
      for (let at = 0; at < 40; at += 1) await look(chance, () => port)
      const startedMs = performance.now()
      let problems: readonly string[] | null = null
      while (problems === null || problems.length > 0) {
        problems = await problemsOfSet(port, 'last')
        if (performance.now() - startedMs > recoveryMs) break
        if (problems?.length !== 0) await delay(500)
      }
      for (const problem of problems ?? ['a document is missing'])
        fail(`replica ${port}: ${problem}`)
    }
  }

  /** The rows must be those that the commits have written, and violate no invariant. */
  async function examine(): Promise<void> {
    for (const table of await taking.run(() => commits.differences(observe))) {
      fail(`the rows of ${table} differ`)
    }
    const folder = mkdtempSync(join(tmpdir(), 'ledger-rows-'))
    const path = join(folder, 'ledger.db')
    await (await openDatabase({ url: `sqlite:${path}` })).close()
    const probe = await openProbe(path)
    await probe.query('pragma foreign_keys = off')
    // The bytes of tiles are no JSON, and no invariant reads them.
    for (const table of commits.tables.filter((name) => name !== 'log_tiles')) {
      await probe.query(`delete from "${table}"`).catch(() => [])
      const rows = commits.inOrder(table)
      const names = commits.columnsOf(table).map(({ column }) => column)
      const members = names.map((name) => `value ->> '$.${name}'`).join(', ')
      const json = JSON.stringify(rows).replaceAll("'", "''")
      const columns = names.map((name) => `"${name}"`).join(', ')
      await probe.query(
        `insert into "${table}" (${columns}) select ${members} from json_each('${json}')`,
      )
    }
    for (const violation of await violatedInvariants(probe.query)) fail(`in the rows: ${violation}`)
    await probe.close()
    rmSync(folder, { recursive: true })
  }

  try {
    await take()
    const timer = setTimeout(() => {
      isOver = true
    }, forMs)
    await Promise.all([disturb(), readSets(), ...Array.from({ length: crowd }, client)])
    clearTimeout(timer)
    await take()
    if (differences.length === 0) await examine()
    if (differences.length === 0) await expectReplicasAgree()
    if (differences.length === 0) await examine()
  } finally {
    await cluster.stop()
    await commits.close()
  }
  return { differences, lines, tally }
}

function isKind(kind: string): kind is Kind {
  const all: readonly string[] = kinds
  return all.includes(kind)
}

/** Every write of a service stores its answer. */
function isOfBuilder(changes: readonly Change[]): boolean {
  return !changes.some(({ table, after }) => table === 'answers' && after !== null)
}
