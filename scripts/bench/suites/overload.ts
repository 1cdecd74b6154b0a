/** Signed receipts at five times the capacity of the service, against the service at its capacity. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { z } from 'zod'

import { cpuNs, startTask } from '../processes.ts'
import { median, row, rowsOf, valuesOf } from '../rows.ts'
import type { Sample } from '../rows.ts'
import { receiptsPath, startPlatformService } from '../service.ts'
import type { Suite } from '../suite.ts'

const capacityConnections = 64
const connections = 600
const times = 5
/** Receipts are signed before each run: so many for a second of the first run, which measures the capacity. */
const firstSignedPerSecond = 3000
/** Afterwards, times the capacity. Refused receipts are sent again, so only accepted ones are used up. */
const signedMargin = 2

export const overload: Suite = {
  about: 'writes at five times the capacity of the service, against itself at capacity',
  run: async ({ dir, quick, log }) => {
    const [rounds, durationMs] = quick ? [2, 1500] : [5, 8000]
    const service = await startPlatformService(dir)
    let runs = 0
    let accepted = 0
    let capacity = firstSignedPerSecond / signedMargin
    const flood = async (perSecond: number): Promise<Sample> => {
      runs += 1
      const open = perSecond === 0 ? capacityConnections : connections
      // One more receipt is in flight on each connection.
      const signed = Math.round((durationMs / 1000) * capacity * signedMargin) + open
      const load = [`overload ${runs}`, 0, signed, perSecond, durationMs, open]
      const writer = startTask('post-receipts', service.origin, ...load)
      const reader = startTask('read-document', `${service.origin}/api/v1/rails`)
      await Promise.all([writer.next(), reader.next()])
      writer.go()
      await writer.next()
      const before = cpuNs(service.pids())
      reader.go()
      writer.go()
      const posted = await writer.next()
      const cpuSeconds = (cpuNs(service.pids()) - before) / 1e9
      reader.go()
      const count = Number(posted['accepted'])
      accepted += count
      if (perSecond === 0) capacity = Number(posted['perSecond'])
      return { ...posted, ...(await reader.next()), perCpuSecond: count / cpuSeconds }
    }
    const atCapacity: Sample[] = []
    const over: Sample[] = []
    try {
      await buildOnce(dir)
      log('  a first run, to warm up')
      await flood(0)
      for (let round = 0; round < rounds; round += 1) {
        atCapacity.push(await flood(0))
        over.push(await flood(capacity * times))
        log(`  round ${round + 1} of ${rounds}: ${JSON.stringify(over.at(-1))}`)
      }
      await requireAll(service.origin, accepted)
    } finally {
      await service.stop()
    }
    const capacities = valuesOf(atCapacity, 'perSecond')
    const offered = valuesOf(over, 'offeredPerSecond')
    const timesOffered = median(offered.map((rate, round) => rate / (capacities[round] ?? NaN)))
    return {
      rows: rowsOf(over, { name: 'at capacity', samples: atCapacity }, [
        row('receipts accepted', '1/s', 'perSecond'),
        row('receipts accepted per second of CPU time', '1/s', 'perCpuSecond', {
          target: { of: 'ratio', atLeast: 0.7 },
        }),
        row('p99 of accepted receipts', 'ms', 'p99Ms'),
        row('p99 of refusals', 'ms', 'refusedP99Ms', {
          peer: { name: 'p99 of accepted receipts', samples: over, figure: 'p99Ms' },
          target: { of: 'ratio', atMost: 1 },
        }),
        row('p50 of reading a document', 'ms', 'readP50Ms', { target: { of: 'ratio', atMost: 3 } }),
        row('p99 of reading a document', 'ms', 'readP99Ms'),
        row('first write afterwards', 'ms', 'recoveryMs', { target: { of: 'ours', atMost: 2000 } }),
      ]),
      skipped: [],
      facts: {
        times_capacity: timesOffered.toFixed(1),
        acknowledged_and_stored: accepted,
        refused_each_round: median(valuesOf(over, 'refused')),
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

/** @throws Error unless the ledger has exactly the acknowledged receipts */
async function requireAll(origin: string, acknowledged: number): Promise<void> {
  const response = await fetch(`${origin}${receiptsPath}?limit=1`)
  const { total } = z.object({ total: z.number() }).parse(await response.json())
  if (total !== acknowledged) {
    throw new Error(`${acknowledged} receipts were acknowledged, and the ledger has ${total}`)
  }
}
