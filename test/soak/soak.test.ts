/** Runs service and builder under mixed load at 70 % of their capacity. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { examine } from '../../scripts/cli/admin/integrity.ts'
import { openDirectory, verifyAlone } from '../../scripts/cli/published-set.ts'
import { allGood } from '../../src/core/check.ts'
import { recomputeScores } from '../../src/db/score-check.ts'
import { installBoardProgram } from '../e2e/board.ts'
import { addressOf, newLedger, problemsOfSet, stop, useProgram, withHooks } from '../e2e/ledger.ts'
import type { Ledger } from '../e2e/ledger.ts'
import { percentile } from '../support/percentile.ts'
import { childrenOf, fileMiB, heapOf, sampleOf, trendOf } from '../support/process-samples.ts'
import type { Sample } from '../support/process-samples.ts'
import { run } from '../support/program.ts'
import type { Running } from '../support/program.ts'
import { startUsdcChain } from '../support/usdc-chain.ts'
import type { UsdcChain } from '../support/usdc-chain.ts'
import { chainAccount, localSettlement } from '../support/x402-payment.ts'
import {
  MAX_UNDER_WAY,
  asFastAsTheyGo,
  atRate,
  feedPrice,
  paceOf,
  payer,
  startLoad,
  within,
} from './load.ts'
import type { Load, Pace, Request } from './load.ts'

const SHARE_OF_CAPACITY = 0.7
const EVERY_MS = 500
const funds = 10_000_000_000n
const settler = chainAccount('settler').address
/** Allowed growth of resident memory in the second half; it includes garbage. */
const SETTLING_MIB = { service: 48, builder: 128 } as const
/** The limit of the write-ahead log (64 MiB) and one transaction. */
const WAL_MIB = 72
const PATIENCE_MS = 60_000
/** Minimum share of requests done, relative to the empty server. The lowest healthy run had 0.56; a collapse is below 0.5. */
const DONE_SHARE = 0.5
/** Allowed slowdown of the last third, relative to the empty server. Quiet runs reach 1.4, a growing queue more than 10. */
const DRIFT = 2.5
/** Allowed growth of CPU time per request. Other load adds up to two thirds, work that grows with the ledger far more. */
const CPU_GROWTH = 2
/** The median of as many p99 leaves out builds and collections. */
const WINDOWS = 20
/** Minimum number of payments relative to the first third; it depends on the disk. */
const LEAST_PAYMENTS = 0.3
/** Number of garbage collections in service and builder, each followed by a measurement. */
const WEIGHINGS = 12
/** Allowed growth of the heap. The service may also grow by the published bytes; requests must not grow the builder. */
const KEPT_BYTES = {
  service: { atAll: 12 * 2 ** 20, perDocument: 4096, perRequest: 64 },
  builder: { atAll: 4 * 2 ** 20, perDocument: 16_384 },
} as const

const program = useProgram(installBoardProgram)
let chain: UsdcChain
let ledger: Ledger
let service: Running
let url: string
let empty: Running

beforeAll(async () => {
  chain = await startUsdcChain()
  await chain.mint(payer.address, funds)
  await chain.fund(settler, 10n ** 21n)
  ledger = newLedger(program, {
    POLL: 'off',
    LOG_LEVEL: 'warn',
    ...localSettlement(program.dir, chain.url),
    TRUSTED_PROXIES: '127.0.0.1',
  })
  const builder = ledger.builder(['--once'])
  expect(await builder.ended, builder.output()).toBe(0)
  service = ledger.service({
    LOG_LEVEL: 'info',
    ...withHooks(program, 'test/support/heap-hook.ts'),
  })
  url = await addressOf(service)
  empty = run(program.scriptOf('test/soak/empty-server-child.ts'), [], {})
})

afterAll(async () => {
  for (const running of [service, empty]) {
    running.kill('SIGKILL')
    await running.ended
  }
  await chain.stop()
  ledger.remove()
})

const builderPid = (): number | undefined => childrenOf(service.pid)[0]

interface Held {
  readonly service: readonly Sample[]
  readonly builder: readonly Sample[]
  readonly walMiB: readonly number[]
}

async function watch(during: Promise<unknown>): Promise<Held> {
  const held = { service: [] as Sample[], builder: [] as Sample[], walMiB: [] as number[] }
  const over = new AbortController()
  const ended = during.finally(() => over.abort())
  while (!over.signal.aborted) {
    const own = sampleOf(service.pid)
    if (own !== null) held.service.push(own)
    const builder = builderPid()
    const child = builder === undefined ? null : sampleOf(builder)
    if (child !== null) held.builder.push(child)
    held.walMiB.push(fileMiB(join(ledger.dataDir, 'ledger.db-wal')))
    await sleep(EVERY_MS)
  }
  await ended
  return held
}

interface Weight {
  readonly requests: number
  readonly service: number
  readonly builder: number
  readonly documents: number
  readonly publishedBytes: number
}

function publishedNow(): Pick<Weight, 'documents' | 'publishedBytes'> {
  const { documents } = ledger.manifest()
  const sizes = documents.flatMap(({ size, encodings }) => [
    size,
    encodings.br?.size ?? 0,
    encodings.gzip?.size ?? 0,
  ])
  return {
    documents: documents.length,
    publishedBytes: sizes.reduce((sum, size) => sum + size, 0),
  }
}

async function weigh(load: Load, soakMs: number): Promise<readonly Weight[]> {
  const weights: Weight[] = []
  const builder = builderPid()
  if (builder === undefined) throw new Error('there is no builder')
  for (let at = 0; at < WEIGHINGS; at += 1) {
    await sleep(soakMs / WEIGHINGS)
    const held = { service: await heapOf(service), builder: await heapOf(service, builder) }
    const requests = load.requests.length
    weights.push({ requests, ...held, ...publishedNow() })
  }
  return weights
}

/** The minimum is closest to the memory between two builds. */
function leastHeldByBuilder(weights: readonly Weight[]): number {
  return Math.min(...weights.map(({ builder }) => builder))
}

const inMiB = (bytes: number): string => (bytes / 2 ** 20).toFixed(1)
const secondHalf = (samples: readonly Sample[]) => samples.slice(Math.floor(samples.length / 2))
const most = (samples: readonly Sample[], of: (sample: Sample) => number) =>
  Math.max(...samples.map(of))

test('under mixed load no resource grows, no request fails, and every acknowledged write is stored', async () => {
  const soakMs = inject('soakMs')
  const load = await startLoad(url, await addressOf(empty))
  // Fills the ledger and warms the engine before the measurement.
  const shortMs = Math.max(5000, soakMs / 12)
  const filling = await asFastAsTheyGo(load, shortMs)
  const atMost = await asFastAsTheyGo(load, shortMs)
  const atCapacity = load.requests.filter(({ atMs }) => atMs >= atMost.fromMs)
  const measuredFrom = load.requests.length
  const requested = paceOf(atMost) * SHARE_OF_CAPACITY
  const driven = atRate(load, soakMs, requested)
  const [pace, held, weights] = await Promise.all([driven, watch(driven), weigh(load, soakMs)])

  const [middle, end] = [weights[WEIGHINGS / 2 - 1], weights.at(-1)]
  if (middle === undefined || end === undefined) throw new Error('no heap was measured')
  const publishedGrowth = end.publishedBytes - middle.publishedBytes
  const documentGrowth = end.documents - middle.documents
  const builderGrowth =
    leastHeldByBuilder(weights.slice(-WEIGHINGS / 4)) -
    leastHeldByBuilder(weights.slice(WEIGHINGS / 4, WEIGHINGS / 2))

  const requests = load.requests.slice(measuredFrom)
  const thirds = [0, 1, 2].map((at) =>
    thirdOf({ pace, requests, samples: held.service, atCapacity, requested }, at),
  )
  const [first, , last] = thirds
  if (first === undefined || last === undefined) throw new Error('nothing was measured')
  const grown = (samples: readonly Sample[]) =>
    trendOf(secondHalf(samples), ({ residentMiB }) => residentMiB)
  const ofThirds = (of: (third: Third) => number) =>
    thirds.map((third) => of(third).toFixed(2)).join(', ')
  const { acknowledged } = load
  const figures = {
    seconds: soakMs / 1000,
    'requests per second': `${paceOf(filling).toFixed(0)} at first, ${paceOf(atMost).toFixed(0)} at capacity, ${requested.toFixed(0)} requested, ${paceOf(pace).toFixed(0)} done`,
    acknowledged: `${acknowledged.receipts.length} receipts, ${acknowledged.workers.length} workers, ${acknowledged.jobs.length} jobs, ${acknowledged.payments} payments`,
    'share of requests done, by thirds': ofThirds(({ doneShare }) => doneShare),
    'speed of the empty server, relative to the capacity measurement': ofThirds(
      ({ machine }) => machine,
    ),
    'CPU ms of the service per request': ofThirds(({ cpuMs }) => cpuMs),
    payments: ofThirds(({ payments }) => payments),
    'p99, ms': ofThirds(({ p99Ms }) => p99Ms),
    'p99 of an empty server, ms': ofThirds(({ emptyP99Ms }) => emptyP99Ms),
    'heap of the service (and published bytes) after collections, MiB': weights
      .map((one) => `${inMiB(one.service)} (${inMiB(one.publishedBytes)})`)
      .join(' '),
    'heap of the builder after collections, MiB': `${weights
      .map(({ builder }) => inMiB(builder))
      .join(
        ' ',
      )}; growth of the minimum from the second to the last quarter ${inMiB(builderGrowth)}`,
    'documents in the second half': `${middle.documents} to ${end.documents}`,
    'resident MiB of the service, its trend in the second half': `${most(held.service, ({ residentMiB }) => residentMiB).toFixed(0)}, ${grown(held.service).toFixed(1)}`,
    'resident MiB of the builder, its trend in the second half': `${most(held.builder, ({ residentMiB }) => residentMiB).toFixed(0)}, ${grown(held.builder).toFixed(1)}`,
    'write-ahead log at most, MiB': Math.max(...held.walMiB).toFixed(1),
  }
  const lines = Object.entries(figures).map(([name, value]) => `${name}: ${value}`)
  process.stdout.write(`${lines.join('\n')}\n`)

  for (const { payments } of thirds) {
    expect(payments).toBeGreaterThan(LEAST_PAYMENTS * first.payments)
  }
  const failed = load.requests.filter(({ status }) => status >= 400)
  expect(new Set(failed.map(({ kind, status }) => `${kind} ${status}`))).toEqual(new Set())
  for (const { doneShare, machine } of thirds) {
    expect(doneShare).toBeGreaterThan(DONE_SHARE * Math.min(1, machine))
  }
  expect(last.cpuMs).toBeLessThan(CPU_GROWTH * first.cpuMs)
  // On a machine that became slower, requests queue anyway, so latencies are not compared.
  const isJudged = last.machine >= Math.max(1, 0.8 * first.machine)
  const slower = last.p99Ms / first.p99Ms / Math.max(1, last.emptyP99Ms / first.emptyP99Ms)
  expect(isJudged ? slower : 0).toBeLessThan(DRIFT)
  expect(end.service - middle.service - publishedGrowth).toBeLessThan(
    KEPT_BYTES.service.atAll +
      KEPT_BYTES.service.perDocument * documentGrowth +
      KEPT_BYTES.service.perRequest * (end.requests - middle.requests),
  )
  expect(builderGrowth).toBeLessThan(
    KEPT_BYTES.builder.atAll + KEPT_BYTES.builder.perDocument * documentGrowth,
  )
  for (const name of ['service', 'builder'] as const) {
    const samples = held[name]
    // Twice, since the old and the new set exist together during a switch.
    expect(grown(samples)).toBeLessThan(SETTLING_MIB[name] + (2 * publishedGrowth) / 2 ** 20)
    const [third = [], fourth = []] = halves(secondHalf(samples))
    for (const of of ['descriptors', 'threads'] as const) {
      expect(most(fourth, (one) => one[of])).toBeLessThanOrEqual(
        most(third, (one) => one[of]) + MAX_UNDER_WAY,
      )
    }
  }
  expect(Math.max(...held.walMiB)).toBeLessThan(WAL_MIB)

  const every = Math.max(1, Math.floor(acknowledged.receipts.length / 200))
  for (const [at, id] of acknowledged.receipts.entries()) {
    if (at % every !== 0) continue
    const answer = await fetch(`${url}/api/v1/receipts/${id}`)
    expect([id, answer.status]).toEqual([id, 200])
    await answer.arrayBuffer()
  }
  await published(`"total":${acknowledged.receipts.length}`)
  await stop(service)
  expect(problemsOfSet(ledger)).toEqual([])
  const checks = await verifyAlone(openDirectory(join(ledger.publicDir, 'current')))
  expect(checks.filter(({ good }) => !good)).toEqual([])
  expect(allGood(checks)).toBe(true)

  await ledger.withDatabase(async ({ reader }) => {
    const receipts = await reader.selectFrom('receipts').select('id').execute()
    expect(receipts.map(({ id }) => id).toSorted()).toEqual(acknowledged.receipts.toSorted())
    const workers = await reader.selectFrom('workers').select('wallet').execute()
    const there = new Set(workers.map(({ wallet }) => wallet))
    expect(acknowledged.workers.filter((wallet) => !there.has(wallet))).toEqual([])
    const jobs = await reader.selectFrom('jobs').select('id').execute()
    expect(jobs.map(({ id }) => id).toSorted()).toEqual(acknowledged.jobs.toSorted())
    expect((await recomputeScores(reader)).differences).toEqual([])
    expect((await examine(reader)).filter(({ good }) => !good)).toEqual([])
  })
  expect(await chain.usedAuthorizations()).toHaveLength(acknowledged.payments)
  expect(await chain.balanceOf(payer.address)).toBe(
    funds - BigInt(acknowledged.payments) * feedPrice,
  )
})

interface Measured {
  readonly pace: Pace
  readonly requests: readonly Request[]
  readonly samples: readonly Sample[]
  readonly atCapacity: readonly Request[]
  readonly requested: number
}

interface Third {
  /** Done requests relative to the requested rate; above 1 if delayed requests follow later. */
  readonly doneShare: number
  /** Speed of the empty server, relative to that while the capacity was measured. */
  readonly machine: number
  /** CPU time of the service per request. */
  readonly cpuMs: number
  readonly p99Ms: number
  readonly emptyP99Ms: number
  readonly payments: number
}

function thirdOf({ pace, requests, samples, atCapacity, requested }: Measured, at: number): Third {
  const thirdMs = (pace.toMs - pace.fromMs) / 3
  const fromMs = pace.fromMs + at * thirdMs
  const isIn = within(fromMs, fromMs + thirdMs)
  const own = requests.filter(({ atMs }) => isIn(atMs))
  const watched = samples.filter(({ atMs }) => isIn(atMs))
  const [start, end] = [watched[0], watched.at(-1)]
  if (start === undefined || end === undefined) throw new Error('the service was not watched')
  const timesOf = (some: readonly Request[], isKind: (kind: string) => boolean) =>
    some.filter(({ kind }) => isKind(kind)).map(({ tookMs }) => tookMs)
  const isEmpty = (kind: string) => kind === 'empty'
  const windows = Array.from({ length: WINDOWS }, (_, window) => {
    const windowMs = thirdMs / WINDOWS
    const isInWindow = within(fromMs + window * windowMs, fromMs + (window + 1) * windowMs)
    return own.filter(({ atMs }) => isInWindow(atMs))
  })
  const p99Of = (isKind: (kind: string) => boolean) =>
    percentile(
      windows.map((some) => percentile(timesOf(some, isKind), 0.99)),
      0.5,
    )
  return {
    doneShare: pace.doneMs.filter(isIn).length / ((requested * thirdMs) / 1000),
    machine: percentile(timesOf(atCapacity, isEmpty), 0.5) / percentile(timesOf(own, isEmpty), 0.5),
    cpuMs: (end.cpuMs - start.cpuMs) / pace.doneMs.filter(within(start.atMs, end.atMs)).length,
    // Payments wait for each other and for the chain; only their number is checked.
    p99Ms: p99Of((kind) => kind !== 'payment' && kind !== 'empty'),
    emptyP99Ms: p99Of(isEmpty),
    payments: own.filter(({ kind, status }) => kind === 'payment' && status === 200).length,
  }
}

function halves(samples: readonly Sample[]): readonly (readonly Sample[])[] {
  const middle = Math.floor(samples.length / 2)
  return [samples.slice(0, middle), samples.slice(middle)]
}

async function published(text: string): Promise<void> {
  await expect
    .poll(async () => await (await fetch(`${url}/api/v1/receipts`)).text(), {
      timeout: PATIENCE_MS,
    })
    .toContain(text)
}
