/**
 * One attacker, who uses all that the limits allow to one network or one free account, beside everybody else on a
 * ledger of 1,000,000 receipts.
 */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'

import { entriesOf } from '../../src/core/entries.ts'
import { installBoardProgram } from '../e2e/board.ts'
import { addressOf, newLedger, stop, useProgram } from '../e2e/ledger.ts'
import type { Ledger } from '../e2e/ledger.ts'
import { chains, fillLedger, rails, statuses, workerOf } from '../support/large-ledger.ts'
import type { Running } from '../support/program.ts'
import type { Address } from '../support/raw-http.ts'
import { nearWallet, signedBody } from '../support/wallets.ts'
import { askSteadily, askToTheLimit, openClient, p99Of } from './clients.ts'
import type { Answer, Asked } from './clients.ts'

/** Rest and attack alternate, so that other load of the machine meets both. Each round has a new attacker. */
const ROUNDS = 6
const ROUND_MS = 2000
/** As many connections as one address may have. */
const CLIENTS = 128
const EVERY_MS = 40
/** Requests of one attack: more than the limits allow in a round. */
const ATTACKS = 1500
/** On two cores, which clients and service share, the burst of 128 connections delays all requests by some ten ms. */
const MOST_TIMES = 20
const MOST_TIMES_PIPELINED = 3
/** A shorter p99 counts as this: below, the clients and the scheduler of a busy machine outweigh the service. */
const FLOOR_MS = 5
/** The p99 of documents at rest on a quiet machine is a third of this. */
const QUIET_MS = 10
const NEWCOMER_MS = 1000
const LIST_MS = 20
const IDLE = 10_000

const program = useProgram(installBoardProgram)
let ledger: Ledger
let service: Running
let attacker: ChildProcess
let address: Address
let metricsUrl: string
const rows: string[] = []

beforeAll(async () => {
  ledger = newLedger(program, { POLL: 'off', LOG_LEVEL: 'warn', TRUSTED_PROXIES: '127.0.0.1' })
  mkdirSync(ledger.dataDir, { recursive: true })
  await fillLedger(join(ledger.dataDir, 'ledger.db'))
  const builder = ledger.builder(['--once'])
  expect(await builder.ended, builder.output()).toBe(0)
  service = ledger.service({ LIMITS: 'on', BUILDER: 'off', LOG_LEVEL: 'info', METRICS_PORT: '0' })
  const { hostname, port } = new URL(await addressOf(service))
  address = { host: hostname, port: Number(port) }
  const metricsPort = /"message":"metrics".*?"port":(\d+)/.exec(service.output())?.[1]
  attacker = fork(program.scriptOf('test/isolation/attacker-child.ts'))
  metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`
})

afterAll(async () => {
  attacker.disconnect()
  await stop(service)
  ledger.remove()
  process.stdout.write(
    [
      '| resource | owner | cap | attack | p99 of everybody else at rest, beside the attack (ms) |',
      '| --- | --- | --- | --- | --- |',
      ...rows,
      '',
    ].join('\n'),
  )
})

let number = 0
/** Each request of everybody else comes from a network of its own. */
const anybody = (): string => {
  number += 1
  return `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`
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
  // Every set of filters in turn.
  const set = filters.filter((_, bit) => ((at >> bit) & 1) === 1)
  return `/api/v1/receipts?${[...set, 'limit=50'].join('&')}`
}

async function registration(name: string): Promise<string> {
  const fields = { skills: ['agent-news-reporting'] }
  return JSON.stringify(
    await signedBody(nearWallet(name), 'register', fields, { nowMs: Date.now() }),
  )
}

const everybodyElse = {
  health: async () => ({ path: '/api/v1/health', from: anybody() }),
  documents: async () => ({ path: '/api/v1/rails', from: anybody() }),
  workers: async (at: number) => ({
    path: `/api/v1/workers/${workerOf(1 + ((at * 7919) % 100_000))}`,
    from: anybody(),
  }),
  lists: async (at: number) => ({ path: listPath(at), from: anybody() }),
  writes: async () => ({
    path: '/api/v1/workers/register',
    from: anybody(),
    body: await registration(`honest ${number}`),
  }),
} as const

type Kind = keyof typeof everybodyElse
const kinds = entriesOf(everybodyElse).map(([kind]) => kind)

/** Documents come from memory, so only other load of the machine delays them; then no times are compared. */
function isBusy(documents: readonly Answer[]): boolean {
  const isLate = p99Of(documents) > QUIET_MS
  if (isLate) process.stdout.write('other load delays this machine: no times are compared\n')
  return isLate
}

interface Attack {
  readonly resource: string
  readonly cap: string
  readonly name: string
  /** Answers that show that the attack reached the resource. */
  readonly reached: number
  /** Connections that send without waiting for answers, instead of 128 that wait. */
  readonly pipelined?: number
  readonly next: (round: number, at: number) => Promise<Asked> | Asked
}

/** Another process sends the requests, so that they do not delay the clients that are measured. */
async function attackWith(
  requests: readonly Asked[],
  pipelined: number | undefined,
): Promise<readonly number[]> {
  const kind = pipelined === undefined ? 'paced' : 'pipelined'
  const clients = pipelined ?? CLIENTS
  attacker.send([kind, address, requests, { durationMs: ROUND_MS, clients }])
  const [statuses] = z
    .tuple([z.array(z.number())], z.unknown())
    .parse(await once(attacker, 'message'))
  return statuses
}

async function measure(attack: Attack): Promise<void> {
  const { next } = attack
  const all = { rest: new Map<Kind, Answer[]>(), beside: new Map<Kind, Answer[]>() }
  let reached = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    // Signed before the times are measured.
    const numbers = Array.from({ length: ATTACKS }, (_, at) => at)
    const requests = await Promise.all(numbers.map(async (at) => await next(round, at)))
    for (const state of ['rest', 'beside'] as const) {
      const attacking =
        state === 'rest' ? Promise.resolve([]) : attackWith(requests, attack.pipelined)
      const steady = { durationMs: ROUND_MS, everyMs: EVERY_MS }
      const answers = await askSteadily(address, everybodyElse, steady)
      for (const kind of kinds) {
        all[state].set(kind, [...(all[state].get(kind) ?? []), ...(answers.get(kind) ?? [])])
      }
      reached += (await attacking).filter((status) => status === attack.reached).length
    }
  }
  const answersOf = (state: keyof typeof all, kind: Kind) => all[state].get(kind) ?? []
  const shown = kinds.map(
    (kind) =>
      `${kind} ${p99Of(answersOf('rest', kind)).toFixed(0)}, ${p99Of(answersOf('beside', kind)).toFixed(0)}`,
  )
  rows.push(
    `| ${attack.resource} | service | ${attack.cap} | ${attack.name} | ${shown.join('; ')} |`,
  )
  process.stdout.write(`${rows.at(-1)} ${reached} reached\n`)
  for (const kind of kinds) {
    const wanted = kind === 'writes' ? 201 : 200
    const others = (['rest', 'beside'] as const).flatMap((state) =>
      answersOf(state, kind).filter(({ status }) => status !== wanted),
    )
    expect([kind, others]).toEqual([kind, []])
  }
  expect(reached).toBeGreaterThan(0)
  if (isBusy(answersOf('rest', 'documents'))) return
  const [floorMs, mostTimes] =
    attack.pipelined === undefined ? [FLOOR_MS, MOST_TIMES] : [QUIET_MS, MOST_TIMES_PIPELINED]
  for (const kind of kinds) {
    const [rest, beside] = [p99Of(answersOf('rest', kind)), p99Of(answersOf('beside', kind))]
    const times = Math.max(beside, floorMs) / Math.max(rest, floorMs)
    expect(times, `${kind}: ${rest} ms at rest, ${beside} ms`).toBeLessThanOrEqual(mostTimes)
  }
}

/** An address of a /48 of the attacker, in one of its first `subnets` /64 networks; another /48 for each round. */
const attackerIn = (name: string, round: number, at: number, subnets: number): string =>
  `2001:db8:${name}${round}:${(at % subnets).toString(16)}::1`

test('lists of one network delay nobody else', () =>
  measure({
    resource: 'list connections',
    cap: 'one list at a time per IPv4 address or IPv6 /48, 2 s each, then a pause of three times its duration',
    name: '1,200 lists from a /48 over 128 connections',
    reached: 200,
    next: (round, at) => ({ path: listPath(at), from: attackerIn('a', round, at, 16) }),
  }))

test('failed signatures of one network delay nobody else', () =>
  measure({
    resource: 'signature threads',
    cap: '600 failed signatures at once per IPv4 address or IPv6 /64, then 75 a minute; 4 at the same time',
    name: '600 writes signed by another wallet, from a /64 over 128 connections',
    reached: 401,
    next: (round, at) => ({
      path: '/api/v1/workers/register',
      from: attackerIn('b', round, at, 1),
      body: forged(at),
    }),
  }))

test('writes of one network delay nobody else', () =>
  measure({
    resource: 'concurrent writes',
    cap: '4 at the same time, and 124 that wait, per IPv4 address or IPv6 /48; 200 new workers a day per address or /64',
    name: '200 new workers from a /64 over 128 connections',
    reached: 201,
    next: async (round, at) => ({
      path: '/api/v1/workers/register',
      from: attackerIn('c', round, at, 1),
      body: await registration(`attacker ${round} ${at}`),
    }),
  }))

test('reads of the log of one network delay nobody else', async () => {
  const checkpoint = await fetch(`http://${address.host}:${address.port}/log/checkpoint`)
  const size = Number((await checkpoint.text()).split('\n')[1])
  const path = size < 256 ? `/log/tile/entries/000.p/${size}` : '/log/tile/entries/000'
  await measure({
    resource: 'reads',
    cap: '4 at the same time, and 124 that wait, per IPv4 address or IPv6 /48; 2,400 at once, then 300 a minute',
    name: '7 tiles every 5 ms over each of two connections of one address',
    reached: 200,
    pipelined: 2,
    next: (round) => ({ path, from: attackerIn('d', round, 0, 1) }),
  })
})

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
  const documentsAtRest: Answer[] = []
  await loopDelay()
  for (let at = 0; at < 3; at += 1) {
    // 64 clients, each at the limit of 60 requests a minute.
    const answers = await askSteadily(
      address,
      {
        lists: (one: number) => everybodyElse.lists(one + at * 320),
        documents: everybodyElse.documents,
      },
      { durationMs: 5000, everyMs: 1000 / 64 },
    )
    const lists = answers.get('lists') ?? []
    expect(lists.filter(({ status }) => status !== 200)).toEqual([])
    windows.push(p99Of(lists))
    documentsAtRest.push(...(answers.get('documents') ?? []))
  }
  const delay = await loopDelay()
  const unpaced = await askToTheLimit(
    address,
    await Promise.all(Array.from({ length: 5000 }, (_, at) => everybodyElse.lists(at))),
    { durationMs: 5000, clients: 64 },
  )
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

test('10,000 idle connections of one address keep no newcomer out', async () => {
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
  const newcomer = await openClient(address, '127.0.0.3')
  const { status } = await newcomer.ask({ path: '/api/v1/health', from: '127.0.0.3' })
  const tookMs = performance.now() - startMs
  for (const socket of [...idle, newcomer.socket]) socket.destroy()
  expect(status).toBe(200)
  expect(tookMs).toBeLessThan(NEWCOMER_MS)
  const open = idle.filter(({ closed }) => !closed).length
  rows.push(
    `| connections | service | 128 per IPv4 address or IPv6 /64, 1,024 per /48 | ${IDLE.toLocaleString('en')} idle connections of one address (${open} stay open) | a newcomer: ${tookMs.toFixed(0)} |`,
  )
})
