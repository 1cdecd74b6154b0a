/** Durable signed receipts from 64 clients, against signature checks alone and grouped inserts alone. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { z } from 'zod'

import { cpuNs, runTask, startTask, threadCpuNs } from '../processes.ts'
import { interleave, medianOf, row, rowsOf, valuesOf } from '../rows.ts'
import type { Sample, Samples } from '../rows.ts'
import { startPlatformService } from '../service.ts'
import type { Service } from '../service.ts'
import type { BenchFacts, Suite, Target } from '../suite.ts'

const connections = 64
const group = 64
const hook = new URL('../tasks/loop-delay-hook.js', import.meta.url)
const loopDelay = z.object({ loopP99Ms: z.number(), loopMaxMs: z.number() })

export const writes: Suite = {
  about: 'signed receipts, durable before they are answered, against its two ceilings',
  run: async ({ dir, quick, log }) => {
    const [rounds, warm, count] = quick ? [2, 1500, 3000] : [7, 4000, 12_000]
    const delayFile = join(dir, 'loop-delay.json')
    const env = { LOOP_DELAY_FILE: delayFile, NODE_OPTIONS: `--import=${hook.pathname}` }
    const service = await startPlatformService(dir, { env })
    let runs = 0
    const post = async (): Promise<Sample> => {
      runs += 1
      return await postReceipts(service, `run ${runs}`, warm, count, delayFile)
    }
    const insert = async () => {
      const target = join(dir, 'inserts.db')
      const result = await runTask('insert-rows', service.databasePath, target, group, count)
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${target}${suffix}`, { force: true })
      return result
    }
    try {
      log('  a first run, whose rows the inserts alone write again')
      await post()
      const samples = await interleave(rounds, {
        service: post,
        'checks alone': async () => await runTask('check-signatures', 'receipt', warm, count),
        'inserts alone': insert,
      })
      const ours = samples('service')
      const ceilings = (['checks alone', 'inserts alone'] as const)
        .map((name) => ({ name, samples: samples(name) }))
        .map((peer) => ({ peer, perSecond: medianOf(peer.samples, 'perSecond') }))
      const lowest = Math.min(...ceilings.map(({ perSecond }) => perSecond))
      return {
        rows: [
          ...ceilings.flatMap(({ peer, perSecond }) => {
            const isLower = perSecond === lowest
            const target: Target = { of: 'ratio', atLeast: 0.7 }
            return rowsOf(ours, peer, [
              row(`signed receipts${isLower ? ', lower ceiling' : ''}`, '1/s', 'perSecond', {
                ...(isLower ? { target } : {}),
                also: { 'cpu us/receipt': 'cpuUs' },
              }),
            ])
          }),
          ...rowsOf(ours, { name: 'p50', samples: ours, figure: 'p50Ms' }, [
            row('p99 of the answers', 'ms', 'p99Ms', { target: { of: 'ratio', atMost: 5 } }),
            row('p95 of the answers', 'ms', 'p95Ms'),
            row('event loop blocked at most', 'ms', 'loopMaxMs', {
              peer: { name: 'p99 of its turns', samples: ours, figure: 'loopP99Ms' },
              target: { of: 'ours', atMost: 20 },
            }),
          ]),
        ],
        skipped: [],
        facts: {
          connections,
          receipts_per_round: count,
          group_of_inserts_alone: group,
          ...cpuFacts(ours),
          longest_answer_ms: Math.round(Math.max(...valuesOf(ours, 'maxMs'))),
        },
      }
    } finally {
      await service.stop()
    }
  },
}

/** Splits the CPU time of a receipt and derives the rate of two busy cores. */
function cpuFacts(ours: Samples): BenchFacts {
  const [all, eventLoop, load] = [
    medianOf(ours, 'cpuUs'),
    medianOf(ours, 'loopCpuUs'),
    medianOf(ours, 'loadCpuUs'),
  ]
  return {
    cpu_us_event_loop: Math.round(eventLoop),
    cpu_us_other_threads: Math.round(all - eventLoop),
    cpu_us_load_generator: Math.round(load),
    two_cores_could_do_per_second: Math.round(2e6 / (all + load)),
  }
}

async function postReceipts(
  service: Service,
  seed: string,
  warm: number,
  count: number,
  delayFile: string,
): Promise<Sample> {
  const sizes = [warm, count, 0, 1e9, connections]
  const load = startTask('post-receipts', service.origin, seed, ...sizes)
  await load.next()
  load.go()
  await load.next()
  const pids = service.pids()
  const [pid = 0] = pids
  await takeLoopDelay(pid, delayFile)
  const [before, loopBefore] = [cpuNs(pids), threadCpuNs(pid, pid)]
  load.go()
  const posted = await load.next()
  if (posted['refused'] !== 0) throw new Error(`${posted['refused']} receipts were refused`)
  return {
    ...posted,
    ...(await takeLoopDelay(pid, delayFile)),
    cpuUs: (cpuNs(pids) - before) / 1000 / count,
    loopCpuUs: (threadCpuNs(pid, pid) - loopBefore) / 1000 / count,
  }
}

async function takeLoopDelay(pid: number, file: string): Promise<z.infer<typeof loopDelay>> {
  rmSync(file, { force: true })
  process.kill(pid, 'SIGUSR2')
  while (!existsSync(file)) await sleep(5)
  return loopDelay.parse(JSON.parse(readFileSync(file, 'utf8')))
}
