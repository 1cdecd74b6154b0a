/** Durable signed receipts at 64 clients, against the checks of signatures alone and grouped inserts alone. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'

import { z } from 'zod'

import { cpuNs, threadCpuNs } from '../load.ts'
import { runWorker, startSteps } from '../processes.ts'
import { alongside, compare, interleave, median } from '../rounds.ts'
import type { Row, Suite, SuiteContext } from '../suite.ts'
import { lookAtLoop, watchedEnv } from '../writes/loop-delay.ts'
import type { LoopDelay } from '../writes/loop-delay.ts'
import { startWriteService } from '../writes/service.ts'
import type { WriteService } from '../writes/service.ts'

const CONNECTIONS = 64
/** As many as the clients can have under way: no larger group can form in the service. */
const GROUP = 64

const loadScript = new URL('../writes/load-worker.js', import.meta.url)
const checksScript = new URL('../writes/checks-worker.js', import.meta.url)
const insertsScript = new URL('../writes/inserts-worker.js', import.meta.url)

const loadResult = z.object({
  perSecond: z.number(),
  p50Ms: z.number(),
  p95Ms: z.number(),
  p99Ms: z.number(),
  maxMs: z.number(),
  cpuUs: z.number(),
})
const ceilingResult = z.object({ perSecond: z.number(), cpuUs: z.number() })

interface Sample {
  readonly perSecond: number
  /** Of all threads of the process. */
  readonly cpuUs: number | null
  /** Of its event loop alone. */
  readonly loopCpuUs: number | null
  readonly latency: z.infer<typeof loadResult> | null
  readonly loop: LoopDelay | null
}

export const writes: Suite = {
  about: 'signed receipts, durable before they are answered, against its two ceilings',
  run: async (context) => {
    const size = context.quick
      ? { rounds: 2, warm: 1500, count: 3000 }
      : { rounds: 7, warm: 4000, count: 12_000 }
    const service = await startWriteService(context.dir, {
      BUILDER: 'off',
      ...watchedEnv(loopFile(context.dir)),
    })
    let runs = 0
    const load = async (): Promise<Sample> => {
      runs += 1
      return await loadService(service, `run ${runs}`, size, loopFile(context.dir))
    }
    try {
      context.say('  a first run, whose rows the inserts alone write again')
      await load()
      const samples = await interleave(
        [
          { name: 'service', measure: load },
          { name: 'checks alone', measure: () => checksAlone(size) },
          { name: 'inserts alone', measure: () => insertsAlone(context, service, size.count) },
        ],
        size.rounds,
      )
      const of = (name: string): readonly Sample[] => samples.get(name) ?? []
      return {
        rows: rowsOf(of('service'), of('checks alone'), of('inserts alone')),
        skipped: [],
        facts: {
          connections: CONNECTIONS,
          receipts_per_round: size.count,
          group_of_inserts_alone: GROUP,
          ...cpuFacts(of('service')),
          longest_answer_ms: Math.round(
            Math.max(...of('service').map(({ latency }) => latency?.maxMs ?? 0)),
          ),
          node: process.version,
        },
      }
    } finally {
      await service.stop()
    }
  },
}

interface Size {
  readonly warm: number
  readonly count: number
}

function rowsOf(
  ours: readonly Sample[],
  checks: readonly Sample[],
  inserts: readonly Sample[],
): Row[] {
  const rate = (samples: readonly Sample[]) => samples.map(({ perSecond }) => perSecond)
  const cpu = (samples: readonly Sample[]) => samples.map(({ cpuUs }) => cpuUs)
  const checksAreLower = median(rate(checks)) <= median(rate(inserts))
  const against = (peerName: string, peer: readonly Sample[], isLower: boolean): Row =>
    compare({
      what: isLower ? 'signed receipts, lower ceiling' : 'signed receipts',
      unit: '1/s',
      ours: rate(ours),
      peerName,
      peer: rate(peer),
      ...(isLower ? { target: { of: 'ratio', atLeast: 0.7 } } : {}),
      also: alongside('cpu us/receipt', cpu(ours), cpu(peer)),
    })
  const ms = (of: 'p50Ms' | 'p95Ms' | 'p99Ms') => ours.map(({ latency }) => latency?.[of] ?? 0)
  return [
    against('checks alone', checks, checksAreLower),
    against('inserts alone', inserts, !checksAreLower),
    compare({
      what: 'p99 of the answers',
      unit: 'ms',
      ours: ms('p99Ms'),
      peerName: 'p50',
      peer: ms('p50Ms'),
      target: { of: 'ratio', atMost: 5 },
      also: alongside('p95 ms', ms('p95Ms'), ms('p50Ms')),
    }),
    compare({
      what: 'event loop held up at most',
      unit: 'ms',
      ours: ours.map(({ loop }) => loop?.maxMs ?? 0),
      peerName: 'p99 of its turns',
      peer: ours.map(({ loop }) => loop?.p99Ms ?? 0),
      target: { of: 'ours', atMost: 20 },
    }),
  ]
}

/** Where the CPU time of a receipt went, and how many a second two cores could do at that cost. */
function cpuFacts(ours: readonly Sample[]): Readonly<Record<string, number>> {
  const all = median(ours.map(({ cpuUs }) => cpuUs ?? 0))
  const eventLoop = median(ours.map(({ loopCpuUs }) => loopCpuUs ?? 0))
  const load = median(ours.map(({ latency }) => latency?.cpuUs ?? 0))
  return {
    cpu_us_event_loop: Math.round(eventLoop),
    cpu_us_other_threads: Math.round(all - eventLoop),
    cpu_us_load_generator: Math.round(load),
    two_cores_could_do_per_second: Math.round(2e6 / (all + load)),
  }
}

const loopFile = (dir: string): string => join(dir, 'loop.json')

async function loadService(
  service: WriteService,
  seed: string,
  size: Size,
  delays: string,
): Promise<Sample> {
  const { warm, count } = size
  const args = [service.origin, seed, String(warm), String(count), String(CONNECTIONS)]
  const load = await startSteps(loadScript, args)
  await load.until('signed')
  load.next()
  await load.until('warm')
  const [pid = 0] = service.pids()
  await lookAtLoop(pid, delays)
  const before = cpuNs(service.pids())
  const loopBefore = threadCpuNs(pid, pid)
  load.next()
  const latency = loadResult.parse(await load.result())
  const after = cpuNs(service.pids())
  const loopAfter = threadCpuNs(pid, pid)
  const loop = await lookAtLoop(pid, delays)
  const each = (from: number | null, to: number | null) =>
    from === null || to === null ? null : (to - from) / 1000 / count
  return {
    perSecond: latency.perSecond,
    cpuUs: each(before, after),
    loopCpuUs: each(loopBefore, loopAfter),
    latency,
    loop,
  }
}

async function checksAlone({ warm, count }: Size): Promise<Sample> {
  const args = ['checks', String(warm), String(count)]
  return {
    ...ceilingResult.parse(await runWorker(checksScript, args)),
    loopCpuUs: null,
    latency: null,
    loop: null,
  }
}

async function insertsAlone(
  { dir }: SuiteContext,
  { databasePath }: WriteService,
  count: number,
): Promise<Sample> {
  const target = join(dir, 'inserts.db')
  const args = [databasePath, target, String(GROUP), String(count)]
  const result = ceilingResult.parse(await runWorker(insertsScript, args))
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${target}${suffix}`, { force: true })
  return { ...result, loopCpuUs: null, latency: null, loop: null }
}
