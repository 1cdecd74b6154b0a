/** Signed receipts at five times what the service can take, against what it does at its capacity. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { z } from 'zod'

import { cpuNs } from '../load.ts'
import { startSteps } from '../processes.ts'
import { compare, median } from '../rounds.ts'
import type { Suite } from '../suite.ts'
import { startWriteService } from '../writes/service.ts'
import type { WriteService } from '../writes/service.ts'

const floodScript = new URL('../overload/flood-worker.js', import.meta.url)
const readerScript = new URL('../overload/reader-worker.js', import.meta.url)
const CONNECTIONS = 600
const TIMES = 5
/** Receipts have to be signed ahead, which takes longer than sending them. Before anything is known: */
const FIRST_SIGNED_PER_SECOND = 3000
/** Afterwards, times what was taken; those who are refused send again, so that what is taken is what is used up. */
const SIGNED_MARGIN = 2

const floodResult = z.object({
  statuses: z.record(z.string(), z.number()),
  taken: z.number(),
  perSecond: z.number(),
  offeredPerSecond: z.number(),
  takenP50Ms: z.number(),
  takenP99Ms: z.number(),
  refusedP50Ms: z.number(),
  refusedP99Ms: z.number(),
  recoveredMs: z.number(),
})
const readerResult = z.object({
  reads: z.number(),
  p50Ms: z.number(),
  p99Ms: z.number(),
  maxMs: z.number(),
})
const receiptList = z.object({ total: z.number() })

interface Sample {
  readonly flood: z.infer<typeof floodResult>
  readonly reads: z.infer<typeof readerResult>
  /** Of CPU time that the service had. */
  readonly perCpuSecond: number
}

export const overload: Suite = {
  about: 'writes at five times what the service can take, against itself at capacity',
  run: async ({ dir, quick, say }) => {
    const { rounds, durationMs } = quick
      ? { rounds: 2, durationMs: 1500 }
      : { rounds: 5, durationMs: 8000 }
    const service = await startWriteService(dir, { BUILDER: 'off' })
    let runs = 0
    let acknowledged = 0
    let signedPerSecond = FIRST_SIGNED_PER_SECOND
    const measure = async (perSecond: number): Promise<Sample> => {
      runs += 1
      const load = { seed: `overload ${runs}`, perSecond, durationMs, signedPerSecond }
      const sample = await flood(service, load)
      acknowledged += sample.flood.taken
      if (perSecond === 0) signedPerSecond = sample.flood.perSecond * SIGNED_MARGIN
      const { statuses } = sample.flood
      const others = Object.keys(statuses).filter((status) => !['201', '503'].includes(status))
      if (others.length > 0) throw new Error(`answered ${JSON.stringify(statuses)}`)
      return sample
    }
    const atCapacity: Sample[] = []
    const over: Sample[] = []
    try {
      await publishOnce(dir)
      say('  a first run, to be warm')
      await measure(0)
      for (let round = 0; round < rounds; round += 1) {
        const base = await measure(0)
        atCapacity.push(base)
        over.push(await measure(base.flood.perSecond * TIMES))
        say(`  round ${round + 1} of ${rounds}: ${JSON.stringify(over.at(-1))}`)
      }
      await requireAll(service, acknowledged)
    } finally {
      await service.stop()
    }
    const both = (of: (sample: Sample) => number) => ({
      ours: over.map(of),
      peer: atCapacity.map(of),
    })
    const row = { peerName: 'at capacity' }
    return {
      rows: [
        compare({
          ...row,
          what: 'receipts taken',
          unit: '1/s',
          ...both(({ flood }) => flood.perSecond),
        }),
        compare({
          ...row,
          what: 'receipts taken of CPU',
          unit: '1/s',
          ...both(({ perCpuSecond }) => perCpuSecond),
          target: { of: 'ratio', atLeast: 0.7 },
        }),
        compare({
          ...row,
          what: 'p99 of what is taken',
          unit: 'ms',
          ...both(({ flood }) => flood.takenP99Ms),
        }),
        compare({
          what: 'p99 of a refusal',
          unit: 'ms',
          ours: over.map(({ flood }) => flood.refusedP99Ms),
          peerName: 'p99 of what is taken',
          peer: over.map(({ flood }) => flood.takenP99Ms),
          target: { of: 'ratio', atMost: 1 },
        }),
        compare({
          ...row,
          what: 'p50 of reading a document',
          unit: 'ms',
          ...both(({ reads }) => reads.p50Ms),
          target: { of: 'ratio', atMost: 3 },
        }),
        compare({
          ...row,
          what: 'p99 of reading a document',
          unit: 'ms',
          ...both(({ reads }) => reads.p99Ms),
        }),
        compare({
          ...row,
          what: 'the first write afterwards',
          unit: 'ms',
          ...both(({ flood }) => flood.recoveredMs),
          target: { of: 'ours', atMost: 2000 },
        }),
      ],
      skipped: [],
      facts: {
        times_capacity:
          Math.round(
            median(
              over.map(
                ({ flood }, at) => flood.offeredPerSecond / (atCapacity[at]?.flood.perSecond ?? 0),
              ),
            ) * 10,
          ) / 10,
        acknowledged_and_there: acknowledged,
        refused_each_round: Math.round(median(over.map(({ flood }) => flood.statuses['503'] ?? 0))),
        node: process.version,
      },
    }
  },
}

async function flood(
  service: WriteService,
  load: {
    readonly seed: string
    readonly perSecond: number
    readonly durationMs: number
    readonly signedPerSecond: number
  },
): Promise<Sample> {
  const { seed, perSecond, durationMs, signedPerSecond } = load
  // And one that is under way on each connection.
  const signed = Math.round((durationMs / 1000) * signedPerSecond) + CONNECTIONS
  const numbers = [signed, perSecond, durationMs, CONNECTIONS].map(String)
  const writer = await startSteps(floodScript, [service.origin, seed, ...numbers])
  const reader = await startSteps(readerScript, [`${service.origin}/api/v1/rails`])
  await Promise.all([writer.until('signed'), reader.until('ready')])
  const before = cpuNs(service.pids()) ?? Number.NaN
  reader.next()
  writer.next()
  const result = floodResult.parse(await writer.result())
  const spentNs = (cpuNs(service.pids()) ?? Number.NaN) - before
  reader.next()
  const reads = readerResult.parse(await reader.result())
  return { flood: result, reads, perCpuSecond: result.taken / (spentNs / 1e9) }
}

/** The documents that are read meanwhile. */
async function publishOnce(dir: string): Promise<void> {
  const env = {
    ...process.env,
    DATA_DIR: join(dir, 'run'),
    PUBLIC_DIR: join(dir, 'public'),
    LOG_LEVEL: 'warn',
    POLL: 'off',
  }
  const script = join(dir, 'program/dist/builder/main.js')
  await promisify(execFile)(process.execPath, [script, '--once'], { env, maxBuffer: 2 ** 26 })
}

/** Every receipt that was acknowledged is there, once, and none besides. */
async function requireAll({ origin }: WriteService, acknowledged: number): Promise<void> {
  const answer = await fetch(`${origin}/api/v1/receipts?limit=1`)
  const { total } = receiptList.parse(await answer.json())
  if (total !== acknowledged) {
    throw new Error(`${acknowledged} receipts were acknowledged, and ${total} are there`)
  }
}
