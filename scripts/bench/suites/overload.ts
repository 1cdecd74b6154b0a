/** Signed receipts at five times the capacity of the service, against the service at its capacity. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

import { z } from 'zod'

import { cpuUsOf } from '../cpu.ts'
import { createReader } from '../reader.ts'
import { atMost, ratioAtLeast, ratioAtMost, row, rowsOf } from '../rows.ts'
import type { Target } from '../rows.ts'
import { median, medianOf, ofContestant, percentile, valuesOf } from '../samples.ts'
import type { Sample } from '../samples.ts'
import { receiptsPath, startPlatformService } from '../service.ts'
import { startTask } from '../start-task.ts'
import type { Suite } from '../suite.ts'

const connectionsAtCapacity = 64
const connectionsAbove = 600
const times = 5
/** Receipts signed in advance per second of the first run, which measures the capacity. */
const firstSignedPerSecond = 3000
/** Afterwards, times the capacity. Refused receipts are sent again, so only accepted ones are used up. */
const signedMargin = 2

export const overload: Suite = {
  about: 'writes at five times the capacity of the service, against itself at capacity',
  run: async ({ dir, quick, log }) => {
    const [rounds, durationMs] = quick ? [2, 1500] : [5, 8000]
    const { origin, pid, stop } = await startPlatformService(dir)
    let runs = 0
    let accepted = 0
    let capacity = firstSignedPerSecond / signedMargin
    const flood = async (perSecond: number): Promise<Sample> => {
      runs += 1
      const connections = perSecond === 0 ? connectionsAtCapacity : connectionsAbove
      // One more receipt is in flight on each connection.
      const signed = Math.round((durationMs / 1000) * capacity * signedMargin) + connections
      const load = { origin, seed: `overload ${runs}`, warm: 0, signed, durationMs, connections }
      const writer = startTask('post-receipts', { ...load, perSecond })
      await writer.next()
      writer.go()
      await writer.next()
      const before = cpuUsOf(pid)
      const flooding = new AbortController()
      const reads = readEvery10Ms(`${origin}/api/v1/rails`, flooding.signal)
      writer.go()
      const posted = await writer.next()
      const cpuSeconds = (cpuUsOf(pid) - before) / 1e6
      flooding.abort()
      const count = Number(posted['accepted'])
      accepted += count
      if (perSecond === 0) capacity = Number(posted['perSecond'])
      return { ...posted, ...(await reads), perCpuSecond: count / cpuSeconds }
    }
    const samples: Sample[] = []
    try {
      await buildOnce(dir)
      log('  a first run, to warm up')
      await flood(0)
      for (let round = 0; round < rounds; round += 1) {
        const atCapacity = ofContestant('at capacity', await flood(0))
        const over = await flood(capacity * times)
        log(`  round ${round + 1} of ${rounds}: ${JSON.stringify(over)}`)
        samples.push({ ...atCapacity, ...ofContestant('above', over) })
      }
      await requireAll(origin, accepted)
    } finally {
      await stop()
    }
    const capacities = valuesOf(samples, 'at capacity.perSecond')
    const offered = valuesOf(samples, 'above.offeredPerSecond')
    const timesOffered = median(offered.map((rate, round) => rate / (capacities[round] ?? NaN)))
    const compared = (what: string, unit: string, figure: string, target: Target | null = null) =>
      row(what, unit, `above.${figure}`, `at capacity.${figure}`, target)
    const perCpu = 'receipts accepted per second of CPU time'
    return {
      rows: rowsOf(samples, [
        compared('receipts accepted', '1/s', 'perSecond'),
        compared(perCpu, '1/s', 'perCpuSecond', ratioAtLeast(0.7)),
        compared('p99 of accepted receipts', 'ms', 'p99Ms'),
        row('p99 of refusals', 'ms', 'above.refusedP99Ms', 'above.p99Ms', ratioAtMost(1)),
        compared('p50 of reading a document', 'ms', 'readP50Ms', ratioAtMost(3)),
        compared('p99 of reading a document', 'ms', 'readP99Ms'),
        compared('first write afterwards', 'ms', 'recoveryMs', atMost(2000)),
      ]),
      facts: {
        times_capacity: timesOffered.toFixed(1),
        acknowledged_and_stored: accepted,
        refused_each_round: medianOf(samples, 'above.refused'),
      },
    }
  },
}

async function buildOnce(dir: string): Promise<void> {
  const places = { DATA_DIR: join(dir, 'run'), PUBLIC_DIR: join(dir, 'public') }
  const env = { ...process.env, ...places, LOG_LEVEL: 'warn', POLL: 'off' }
  const script = join(dir, 'program/dist/builder/main.js')
  await promisify(execFile)(process.execPath, [script, '--once'], { env, maxBuffer: 2 ** 26 })
}

/** Reads a document over one connection until the signal aborts. This process does no other work during the reads. */
async function readEvery10Ms(url: string, signal: AbortSignal): Promise<Sample> {
  const { read, close } = createReader()
  const latenciesMs: number[] = []
  await read({ url })
  while (!signal.aborted) {
    latenciesMs.push((await read({ url })).ms)
    await sleep(10)
  }
  close()
  return { readP50Ms: percentile(latenciesMs, 0.5), readP99Ms: percentile(latenciesMs, 0.99) }
}

/** @throws Error unless the ledger has exactly the acknowledged receipts */
async function requireAll(origin: string, acknowledged: number): Promise<void> {
  const response = await fetch(`${origin}${receiptsPath}?limit=1`)
  const { total } = z.object({ total: z.number() }).parse(await response.json())
  if (total !== acknowledged) {
    throw new Error(`${acknowledged} receipts were acknowledged, and the ledger has ${total}`)
  }
}
