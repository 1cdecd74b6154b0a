/**
 * One attacker, who uses all that the limits allow to one network or one free account, and other clients on a ledger
 * of 1,000,000 receipts.
 */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { sha256Hex } from '../../src/auth/messages.ts'
import { saveEvidence } from '../../src/db/evidence.ts'
import { installBoardProgram } from '../e2e/board.ts'
import { addressOf, newLedger, stop, useProgram } from '../e2e/ledger.ts'
import type { Ledger } from '../e2e/ledger.ts'
import { startClients } from '../support/client-process.ts'
import { p99Of, sendAll, sendSteadily } from '../support/clients.ts'
import type { Timed } from '../support/clients.ts'
import { openConnection, requestText } from '../support/keep-alive.ts'
import { chains, fillLedger, rails, statuses, workerOf } from '../support/large-ledger.ts'
import type { Running } from '../support/program.ts'
import type { Address } from '../support/raw-http.ts'
import { nearWallet, signedBody } from '../support/wallets.ts'

/** Rest and attack alternate, so that other load of the machine meets both. Each round has a new attacker. */
const ROUNDS = 6
const ROUND_MS = 2000
/** As many connections as one address may have. */
const CLIENTS = 128
const EVERY_MS = 20
/** Requests of one attack: more than the limits allow in a round. */
const ATTACKS = 1500
const MOST_TIMES = 3
/** A shorter p99 counts as this: below, the clients and the scheduler of a busy machine outweigh the service. */
const FLOOR_MS = 10
const NEWCOMER_MS = 1000
const LIST_MS = 20
const IDLE = 10_000

const program = useProgram(installBoardProgram)
let ledger: Ledger
let service: Running
let attacker: ReturnType<typeof startClients>
let address: Address
let metricsUrl: string
const rows: string[] = []

beforeAll(async () => {
  ledger = newLedger(program, { POLL: 'off', LOG_LEVEL: 'warn', TRUSTED_PROXIES: '127.0.0.1' })
  await fillLedger(join(ledger.dataDir, 'ledger.db'))
  await ledger.withDatabase(({ write }) =>
    write((tx) => saveEvidence(tx, [{ sha256, body: bundle, keptUntil: null }])),
  )
  const builder = ledger.builder(['--once'])
  expect(await builder.ended, builder.output()).toBe(0)
  // Else the kernel writes the data of the fill to the disk while times are measured.
  execFileSync('sync')
  service = ledger.service({ LIMITS: 'on', BUILDER: 'off', LOG_LEVEL: 'info', METRICS_PORT: '0' })
  const { hostname, port } = new URL(await addressOf(service))
  address = { host: hostname, port: Number(port) }
  const metricsPort = /"message":"metrics".*?"port":(\d+)/.exec(service.output())?.[1]
  attacker = startClients(program)
  // Runs only while a core is idle, as if on a machine of its own.
  execFileSync('chrt', ['--idle', '--pid', '0', String(attacker.pid)])
  // The first requests of a process wait for its compiler.
  await sendSteadily(address, await otherClients(), {
    everyMs: EVERY_MS,
    over: AbortSignal.timeout(ROUND_MS),
  })
  metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`
})

afterAll(async () => {
  attacker.end()
  await stop(service)
  ledger.remove()
  process.stdout.write(
    [
      '| resource | owner | cap | attack | p99 of other clients at rest, during the attack (ms) |',
      '| --- | --- | --- | --- | --- |',
      ...rows,
      '',
    ].join('\n'),
  )
})

let number = 0
const ask = (path: string, from: string, body?: string): string =>
  requestText({
    path,
    headers: { 'X-Forwarded-For': from },
    ...(body === undefined ? {} : { body }),
  })

/** Each request of the other clients comes from another network. */
function anybody(path: string, body?: string): string {
  number += 1
  return ask(path, `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`, body)
}

const pick = <Value>(values: readonly Value[], at: number): Value | undefined =>
  values[at % values.length]

function listPath(at: number): string {
  const filters = [
    `rail=${pick(rails, at)}`,
    `chain=${pick(chains, at >> 1)}`,
    `status=${pick(statuses, at >> 2)}`,
    `wallet=${workerOf(1 + ((at * 7919) % 100_000))}`,
    `since=${new Date(Date.UTC(2026, 0, 1) + at * 997_000).toISOString()}`,
  ]
  // Goes through all sets of filters.
  const set = filters.filter((_, bit) => ((at >> bit) & 1) === 1)
  return `/api/v1/receipts?${[...set, 'limit=50'].join('&')}`
}

const register = '/api/v1/workers/register'

async function registration(name: string): Promise<string> {
  const fields = { skills: ['agent-news-reporting'] }
  const nowMs = Date.now()
  return JSON.stringify(await signedBody(nearWallet(name), 'register', fields, { nowMs }))
}

const bundle = JSON.stringify({ text: 'x'.repeat(256_000) })
const sha256 = sha256Hex(bundle)
const target = { path: `/evidence/${sha256}.json`, sha256 }

async function dispute(name: string): Promise<string> {
  const fields = { target, claim: 'The figure is wrong.' }
  return JSON.stringify(
    await signedBody(nearWallet(name), 'dispute', fields, { nowMs: Date.now() }),
  )
}

/** The requests of the other clients in a round, written and signed before its times are measured. */
async function otherClients() {
  const numbers = Array.from({ length: ROUND_MS / EVERY_MS }, () => (honest += 1))
  const paths = {
    health: () => '/api/v1/health',
    documents: () => '/api/v1/rails',
    workers: (at: number) => `/api/v1/workers/${workerOf(1 + ((at * 7919) % 100_000))}`,
    lists: listPath,
  }
  const reads = Object.entries(paths).map(
    ([kind, pathOf]) => [kind, numbers.map((at) => anybody(pathOf(at)))] as const,
  )
  const writes = numbers.map(async (at) => anybody(register, await registration(`honest ${at}`)))
  return { ...Object.fromEntries(reads), writes: await Promise.all(writes) }
}

let honest = 0
const kinds = ['health', 'documents', 'workers', 'lists', 'writes'] as const

/** Documents come from memory, so only other load of the machine delays them; then no times are compared. */
function isBusy(documents: readonly Timed[] = []): boolean {
  const isLate = p99Of(documents) > FLOOR_MS
  if (isLate) process.stdout.write('other load delays this machine: no times are compared\n')
  return isLate
}

interface Attack {
  readonly resource: string
  readonly cap: string
  readonly name: string
  /** Answers that show that the attack reached the resource. */
  readonly reached: number
  readonly count?: number
  /** Two connections send without waiting for answers, instead of 128 that wait. */
  readonly isPipelined?: boolean
  readonly next: (round: number, at: number) => Promise<string> | string
}

async function measure({
  next,
  count = ATTACKS,
  isPipelined = false,
  ...attack
}: Attack): Promise<void> {
  const all = { rest: new Map<string, Timed[]>(), attack: new Map<string, Timed[]>() }
  let reached = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    // Signed before the times are measured.
    const numbers = Array.from({ length: isPipelined ? 1 : count }, (_, at) => at)
    const requests = await Promise.all(numbers.map(async (at) => await next(round, at)))
    for (const state of ['rest', 'attack'] as const) {
      const others = await otherClients()
      const clients = isPipelined ? null : CLIENTS
      const order = { address, requests, clients, durationMs: ROUND_MS }
      const attacking = state === 'rest' ? [] : attacker.follow(order)
      const over = AbortSignal.timeout(ROUND_MS)
      const answers = await sendSteadily(address, others, { everyMs: EVERY_MS, over })
      for (const one of kinds) {
        all[state].set(one, [...(all[state].get(one) ?? []), ...(answers[one] ?? [])])
      }
      reached += (await attacking).filter((one) => one.status === attack.reached).length
    }
  }
  const p99s = kinds.map((kind) => {
    const [rest, during] = [p99Of(all.rest.get(kind)), p99Of(all.attack.get(kind))]
    return { kind, rest, during }
  })
  const shown = p99s.map(
    ({ kind, rest, during }) => `${kind} ${rest.toFixed(0)}, ${during.toFixed(0)}`,
  )
  rows.push(
    `| ${attack.resource} | service | ${attack.cap} | ${attack.name} | ${shown.join('; ')} |`,
  )
  process.stdout.write(`${rows.at(-1)} ${reached} reached\n`)
  for (const kind of kinds) {
    const answers = [...(all.rest.get(kind) ?? []), ...(all.attack.get(kind) ?? [])]
    const others = answers.filter(({ status }) => status !== (kind === 'writes' ? 201 : 200))
    expect([kind, others]).toEqual([kind, []])
  }
  expect(reached).toBeGreaterThan(0)
  if (isBusy(all.rest.get('documents'))) return
  for (const { kind, rest, during } of p99s) {
    const times = Math.max(during, FLOOR_MS) / Math.max(rest, FLOOR_MS)
    expect(times, `${kind}: ${rest} ms at rest, ${during} ms`).toBeLessThanOrEqual(MOST_TIMES)
  }
}

/** An address of a /48 of the attacker, in one of its first `subnets` /64 networks; another /48 for each round. */
const attackerIn = (name: string, round: number, at = 0, subnets = 1): string =>
  `2001:db8:${name}${round}:${(at % subnets).toString(16)}::1`

test('lists of one network do not delay other clients', () =>
  measure({
    resource: 'list connections',
    cap: 'one list at a time per IPv4 address or IPv6 /48, 2 s each, then a pause of three times its duration',
    name: '1,200 lists from a /48 over 128 connections',
    reached: 200,
    next: (round, at) => ask(listPath(at), attackerIn('a', round, at, 16)),
  }))

test('failed signatures of one network do not delay other clients', () =>
  measure({
    resource: 'signature threads',
    cap: '600 failed signatures at once per IPv4 address or IPv6 /64, then 75 a minute; concurrent writes as below',
    name: '600 writes signed by another wallet, from a /64 over 128 connections',
    reached: 401,
    next: (round, at) => ask(register, attackerIn('b', round), forged(at)),
  }))

test('writes of one network do not delay other clients', () =>
  measure({
    resource: 'concurrent writes',
    cap: '2 at the same time, with a pause after each, and 126 that wait, per IPv4 address or IPv6 /48; 2,000 units of storage a day per address or /64',
    name: '200 new workers from a /64 over 128 connections',
    reached: 201,
    next: async (round, at) =>
      ask(register, attackerIn('c', round), await registration(`attacker ${round} ${at}`)),
  }))

test('disputes of one network do not delay other clients', () =>
  measure({
    resource: 'disputes',
    cap: 'concurrent writes as above; 20 disputes a day per address or /64',
    name: '100 disputes from a /64 over 128 connections',
    count: 100,
    reached: 201,
    next: async (round, at) =>
      ask('/api/v1/disputes', attackerIn('d', round), await dispute(`${round} ${at}`)),
  }))

async function tilePath(): Promise<string> {
  const checkpoint = await fetch(`http://${address.host}:${address.port}/log/checkpoint`)
  const size = Number((await checkpoint.text()).split('\n')[1])
  return size < 256 ? `/log/tile/entries/000.p/${size}` : '/log/tile/entries/000'
}

async function measureReads(
  what: string,
  from: string,
  path: string,
  turns = '2 at the same time, with a pause after each, and 126 that wait',
): Promise<void> {
  await measure({
    resource: `reads of ${what}`,
    cap: `${turns}, per IPv4 address or IPv6 /48; 2,400 at once, then 300 a minute`,
    name: '7 reads every 5 ms over each of two connections of one address',
    reached: 200,
    isPipelined: true,
    next: (round) => ask(path, attackerIn(from, round)),
  })
}

test('reads of the log by one network do not delay other clients', async () =>
  await measureReads('the log', 'e', await tilePath()))

test('reads of proofs by one network do not delay other clients', () =>
  measureReads('proofs', 'f', '/snapshot.json.tlog-proof'))

test('reads of evidence by one network do not delay other clients', () =>
  measureReads('evidence of 256 kB', '1', target.path, 'one at a time, as lists'))

const hex = (at: number): string => at.toString(16).padStart(8, '0')
const forged = (at: number): string =>
  JSON.stringify({
    skills: ['agent-news-reporting'],
    wallet: `0x${hex(at).repeat(5)}`,
    timestamp: new Date().toISOString(),
    signature: `0x${'11'.repeat(32)}${'22'.repeat(32)}1b`,
  })

test('64 clients that read lists with every set of filters wait at most 20 ms', async () => {
  const windows: number[] = []
  const documentsAtRest: Timed[] = []
  const listsOf = (count: number) => Array.from({ length: count }, (_, at) => anybody(listPath(at)))
  await loopDelay()
  for (let at = 0; at < 3; at += 1) {
    // 64 clients, each at the limit of 60 requests a minute.
    const requests = {
      lists: listsOf(320),
      documents: Array.from({ length: 320 }, () => anybody('/api/v1/rails')),
    }
    const over = AbortSignal.timeout(5000)
    const { lists = [], documents = [] } = await sendSteadily(address, requests, {
      everyMs: 1000 / 64,
      over,
    })
    expect(lists.filter(({ status }) => status !== 200)).toEqual([])
    windows.push(p99Of(lists))
    documentsAtRest.push(...documents)
  }
  const delay = await loopDelay()
  const unpaced = await sendAll([address], listsOf(5000), {
    clients: 64,
    over: AbortSignal.timeout(5000),
  })
  process.stdout.write(
    `64 clients, 60 lists a minute each: p99 ${windows.map((one) => one.toFixed(0)).join(', ')} ms, event loop held ${delay.p99Ms.toFixed(0)} ms (p99), ${delay.mostMs.toFixed(0)} ms (longest); without pauses: ${unpaced.length / 5} lists a second, p99 ${p99Of(unpaced).toFixed(0)} ms\n`,
  )
  if (isBusy(documentsAtRest)) return
  // The best of three: other load of the machine only adds.
  expect(Math.min(...windows)).toBeLessThan(LIST_MS)
  expect(delay.p99Ms).toBeLessThan(LIST_MS)
})

/** Delay of the event loop since the last call. */
async function loopDelay(): Promise<{ readonly p99Ms: number; readonly mostMs: number }> {
  const text = await (await fetch(metricsUrl)).text()
  const msOf = (quantile: string): number => {
    const line = `nodejs_event_loop_lag_seconds{quantile="${quantile}"} `
    return Number.parseFloat(text.slice(text.indexOf(line) + line.length)) * 1000
  }
  return { p99Ms: msOf('0.99'), mostMs: msOf('1') }
}

test('10,000 idle connections of one address do not block a new client', async () => {
  const idle: Socket[] = []
  while (idle.length < IDLE) {
    const more = Array.from({ length: 250 }, async () => {
      const socket = connect({ ...address, localAddress: '127.0.0.2' }).resume()
      socket.on('error', () => undefined)
      await once(socket, 'connect')
      return socket
    })
    idle.push(...(await Promise.all(more)))
  }
  const startMs = performance.now()
  const newcomer = await openConnection(address, '127.0.0.3')
  const { status } = await newcomer.send(ask('/api/v1/health', '127.0.0.3'))
  const tookMs = performance.now() - startMs
  newcomer.close()
  for (const socket of idle) socket.destroy()
  expect(status).toBe(200)
  expect(tookMs).toBeLessThan(NEWCOMER_MS)
  const open = idle.filter(({ closed }) => !closed).length
  rows.push(
    `| connections | service | 128 per IPv4 address or IPv6 /64, 1,024 per /48 | ${IDLE.toLocaleString('en')} idle connections of one address (${open} stay open) | a newcomer: ${tookMs.toFixed(0)} |`,
  )
})
