/**
 * The compiled service and builder under mixed load at 70 % of what they took at the beginning: nothing that is held
 * grows, nothing fails, everything acknowledged is there afterwards.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { examine } from '../../scripts/cli/admin/integrity.ts'
import { verifyDirectory } from '../../scripts/cli/verify.ts'
import { holds } from '../../src/client/verify.ts'
import { recomputeScores } from '../../src/db/score-check.ts'
import { installBoardProgram } from '../e2e/board.ts'
import { addressOf, newLedger, problemsOfSet, withHooks } from '../e2e/ledger.ts'
import type { Ledger } from '../e2e/ledger.ts'
import { run } from '../support/program.ts'
import type { Program, Running } from '../support/program.ts'
import { startUsdcChain } from '../support/usdc-chain.ts'
import type { UsdcChain } from '../support/usdc-chain.ts'
import { chainAccount, chainKey } from '../support/x402-payment.ts'
import { feedPrice, payer, receiver, startLoad } from './load.ts'
import type { Load, Request } from './load.ts'
import { childrenOf, fileMiB, median, sampleOf, trendOf } from './process-samples.ts'
import type { Sample } from './process-samples.ts'

const CLIENTS = 16
const SHARE_OF_CAPACITY = 0.7
const EVERY_MS = 500
const funds = 10_000_000_000n
const settler = chainAccount('settler').address
/**
 * What is resident may still settle by so much in the second half. It holds garbage too, and a builder makes more of it
 * in a build than it keeps; what stays is weighed.
 */
const SETTLING_MIB = { service: 48, builder: 128 } as const
/** The bound of the file that the service sets (64 MiB), and what one transaction may add. */
const WAL_MIB = 72
const PATIENCE_MS = 60_000
/** Between two questions to the server that does nothing. */
const PROBE_EVERY_MS = 50
/** How many times as slow the last third may be as the first, beyond what the empty server became slower. */
const DRIFT = 5
/** So often garbage is collected in the service and in the builder, and what is left is weighed. */
const WEIGHINGS = 12
/**
 * What may stay: in the service besides the bytes of published documents, which it holds on purpose; in the builder
 * however many requests there were, for it remembers what stands published and nothing of what was.
 */
const KEPT_BYTES = {
  service: { atAll: 12 * 2 ** 20, perDocument: 4096, perRequest: 64 },
  builder: { atAll: 4 * 2 ** 20, perDocument: 16_384 },
} as const

let program: Program
let chain: UsdcChain
let ledger: Ledger
let service: Running
let url: string
let empty: Running

beforeAll(async () => {
  program = installBoardProgram()
  chain = await startUsdcChain()
  await chain.mint(payer.address, funds)
  await chain.fund(settler, 10n ** 21n)
  const keyFile = join(program.dir, 'settler.key')
  writeFileSync(keyFile, `${chainKey('settler')}\n`, { mode: 0o600 })
  ledger = newLedger(program, {
    POLL: 'off',
    LOG_LEVEL: 'warn',
    SETTLEMENT: 'local',
    SETTLER_KEY_FILE: keyFile,
    PAYMENT_RECEIVER: receiver,
    RPC_URL_BASE: chain.url,
    TRUSTED_PROXIES: '127.0.0.1',
  })
  await ledger.builder(['--once']).ended
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
  program.remove()
})

/** As fast as the clients go, or at a rate. Answers what was done in a second. */
async function drive(load: Load, durationMs: number, perSecond: number | null): Promise<number> {
  const startMs = performance.now()
  let begun = 0
  const client = async (): Promise<void> => {
    for (;;) {
      const dueMs = perSecond === null ? 0 : (begun / perSecond) * 1000
      begun += 1
      const waitMs = startMs + dueMs - performance.now()
      if (waitMs > 0) await sleep(waitMs)
      if (performance.now() - startMs >= durationMs) return
      await load.next()
    }
  }
  const before = load.requests.length
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return ((load.requests.length - before) / (performance.now() - startMs)) * 1000
}

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

/** How long an answer of the empty server takes, by the same client on the same machine. */
async function probe(during: Promise<unknown>): Promise<readonly Pick<Request, 'tookMs'>[]> {
  const emptyUrl = await addressOf(empty)
  const over = new AbortController()
  const ended = during.finally(() => over.abort())
  const asked: { readonly tookMs: number }[] = []
  while (!over.signal.aborted) {
    const startMs = performance.now()
    await (await fetch(emptyUrl)).text()
    asked.push({ tookMs: performance.now() - startMs })
    await sleep(PROBE_EVERY_MS)
  }
  await ended
  return asked
}

interface Weight {
  readonly requests: number
  readonly service: number
  readonly builder: number
  readonly documents: number
  readonly publishedBytes: number
}

/** The documents that stand published, in every form. */
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

/** What service and builder hold after a collection, and how many requests there had been. */
async function weigh(load: Load, soakMs: number): Promise<readonly Weight[]> {
  const weights: Weight[] = []
  const builder = builderPid()
  if (builder === undefined) throw new Error('there is no builder')
  for (let at = 0; at < WEIGHINGS; at += 1) {
    await sleep(soakMs / WEIGHINGS)
    const held = { service: await heldBy(service.pid, at), builder: await heldBy(builder, at) }
    weights.push({ requests: load.requests.length, ...held, ...publishedNow() })
  }
  return weights
}

/** Bytes after a collection, of a process that was asked so often before. */
async function heldBy(pid: number, before: number): Promise<number> {
  const line = new RegExp(`held by ${pid} after a collection: (\\d+)\\n`, 'g')
  const told = () => [...service.output().matchAll(line)]
  process.kill(pid, 'SIGUSR2')
  await expect.poll(() => told().length, { timeout: PATIENCE_MS }).toBe(before + 1)
  return Number(told()[before]?.[1])
}

/** A build may be under way when it is weighed: the least is nearest to what stays between builds. */
function leastHeldByBuilder(weights: readonly Weight[]): number {
  return Math.min(...weights.map(({ builder }) => builder))
}

const inMiB = (bytes: number): string => (bytes / 2 ** 20).toFixed(1)
const p99 = (some: readonly { readonly tookMs: number }[]) =>
  some.map(({ tookMs }) => tookMs).toSorted((a, b) => a - b)[Math.floor(some.length * 0.99)] ?? 0

/** The p99 of the last third to that of the first. */
function drift(some: readonly { readonly tookMs: number }[]): number {
  const third = Math.floor(some.length / 3)
  return p99(some.slice(-third)) / p99(some.slice(0, third))
}

const secondHalf = (samples: readonly Sample[]) => samples.slice(Math.floor(samples.length / 2))
const most = (samples: readonly Sample[], of: (sample: Sample) => number) =>
  Math.max(...samples.map(of))

test('under mixed load nothing grows, nothing fails, and all that was acknowledged is there', async () => {
  const soakMs = inject('soakMs')
  const load = await startLoad(url)
  const capacity = await drive(load, Math.max(5000, soakMs / 12), null)
  const measuredFrom = load.requests.length
  const rate = capacity * SHARE_OF_CAPACITY
  const driven = drive(load, soakMs, rate)
  const [held, probed, weights] = await Promise.all([
    watch(driven),
    probe(driven),
    weigh(load, soakMs),
  ])

  const [middle, end] = [weights[WEIGHINGS / 2 - 1], weights.at(-1)]
  if (middle === undefined || end === undefined) throw new Error('nothing was weighed')
  const publishedGrowth = end.publishedBytes - middle.publishedBytes
  const documentGrowth = end.documents - middle.documents
  const builderGrowth =
    leastHeldByBuilder(weights.slice(-WEIGHINGS / 4)) -
    leastHeldByBuilder(weights.slice(WEIGHINGS / 4, WEIGHINGS / 2))

  // What was asked: by kind, by status, and whether the end was slower than the beginning.
  const requests = load.requests.slice(measuredFrom)
  const quarter = Math.floor(requests.length / 4)
  const [first, last] = [requests.slice(0, quarter), requests.slice(-quarter)]
  const slowMs = 50 * median(requests.map(({ tookMs }) => tookMs))
  const slowShare = (some: typeof requests) =>
    some.filter(({ tookMs }) => tookMs > slowMs).length / some.length
  const rows = [...new Set(requests.map(({ kind }) => kind))].map((kind) => {
    const some = requests.filter((one) => one.kind === kind)
    const statuses = [...new Set(some.map(({ status }) => status))].join(' ')
    return `${kind.padEnd(10)} ${String(some.length).padStart(8)}  p50 ${median(
      some.map(({ tookMs }) => tookMs),
    )
      .toFixed(1)
      .padStart(7)} ms  p99 ${p99(some).toFixed(1).padStart(8)} ms  ${statuses}`
  })
  const grown = (samples: readonly Sample[]) =>
    trendOf(secondHalf(samples), ({ residentMiB }) => residentMiB)
  const { acknowledged } = load
  const figures = {
    seconds: soakMs / 1000,
    capacity: `${capacity.toFixed(0)} requests a second, ${rate.toFixed(0)} asked for, ${(await driven).toFixed(0)} done`,
    acknowledged: `${acknowledged.receipts.length} receipts, ${acknowledged.workers.length} workers, ${acknowledged.jobs.length} jobs, ${acknowledged.payments} payments`,
    'p99 of the last third to the first': `${drift(requests).toFixed(2)}, of a server that does nothing ${drift(probed).toFixed(2)}`,
    'held by the service after collections and published, MiB': weights
      .map((one) => `${inMiB(one.service)} (${inMiB(one.publishedBytes)})`)
      .join(' '),
    'held by the builder after collections, MiB': `${weights
      .map(({ builder }) => inMiB(builder))
      .join(' ')}; the least of the last quarter to that of the second ${inMiB(builderGrowth)}`,
    'documents in the second half': `${middle.documents} to ${end.documents}`,
    'resident MiB of the service, its trend in the second half': `${most(held.service, ({ residentMiB }) => residentMiB).toFixed(0)}, ${grown(held.service).toFixed(1)}`,
    'resident MiB of the builder, its trend in the second half': `${most(held.builder, ({ residentMiB }) => residentMiB).toFixed(0)}, ${grown(held.builder).toFixed(1)}`,
    'descriptors of the service at most': most(held.service, ({ descriptors }) => descriptors),
    'threads of the service at most': most(held.service, ({ threads }) => threads),
    'write-ahead log at most, MiB': Math.max(...held.walMiB).toFixed(1),
  }
  const lines = Object.entries(figures).map(([name, value]) => `${name}: ${value}`)
  process.stdout.write(`${[...rows, ...lines].join('\n')}\n`)

  const failed = load.requests.filter(({ status }) => status >= 400)
  expect(new Set(failed.map(({ kind, status }) => `${kind} ${status}`))).toEqual(new Set())
  expect(slowShare(last)).toBeLessThan(slowShare(first) + 0.1)
  expect(drift(requests)).toBeLessThan(DRIFT * Math.max(1, drift(probed)))
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
    // Twice: while one set takes the place of another, both are there.
    expect(grown(samples)).toBeLessThan(SETTLING_MIB[name] + (2 * publishedGrowth) / 2 ** 20)
    const [third = [], fourth = []] = halves(secondHalf(samples))
    for (const of of ['descriptors', 'threads'] as const) {
      expect(most(fourth, (one) => one[of])).toBeLessThanOrEqual(
        most(third, (one) => one[of]) + CLIENTS,
      )
    }
  }
  expect(Math.max(...held.walMiB)).toBeLessThan(WAL_MIB)

  // What was acknowledged, by the service itself and in its file.
  const every = Math.max(1, Math.floor(acknowledged.receipts.length / 200))
  for (const [at, id] of acknowledged.receipts.entries()) {
    if (at % every !== 0) continue
    const answer = await fetch(`${url}/api/v1/receipts/${id}`)
    expect([id, answer.status]).toEqual([id, 200])
    await answer.arrayBuffer()
  }
  await published(`"total":${acknowledged.receipts.length}`)
  service.kill('SIGTERM')
  expect(await service.ended).toBe(0)
  expect(problemsOfSet(ledger)).toEqual([])
  const checks = await verifyDirectory(join(ledger.publicDir, 'current'))
  expect(checks.filter(({ good }) => !good)).toEqual([])
  expect(holds(checks)).toBe(true)

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

function halves(samples: readonly Sample[]): readonly (readonly Sample[])[] {
  const middle = Math.floor(samples.length / 2)
  return [samples.slice(0, middle), samples.slice(middle)]
}

/** Waits until the list of receipts that the builder publishes holds the text. */
async function published(text: string): Promise<void> {
  await expect
    .poll(async () => await (await fetch(`${url}/api/v1/receipts`)).text(), {
      timeout: PATIENCE_MS,
    })
    .toContain(text)
}
