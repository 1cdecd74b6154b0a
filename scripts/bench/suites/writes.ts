/** Durable signed receipts from 64 clients, against signature checks alone and grouped inserts alone. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { z } from 'zod'

import { cpuUsOf, cpuUsOfThread } from '../cpu.ts'
import { atMost, ratioAtLeast, ratioAtMost, row, rowsOf } from '../rows.ts'
import { interleave, medianOf } from '../samples.ts'
import type { Sample } from '../samples.ts'
import { databasePathIn, startPlatformService } from '../service.ts'
import { runTask, startTask } from '../start-task.ts'
import type { Suite } from '../suite.ts'

const connections = 64
const group = 64
const hook = new URL('../tasks/loop-delay-hook.js', import.meta.url)
const loopDelay = z.object({ loopP99Ms: z.number(), loopMaxMs: z.number() })
const ceilings = ['checks alone', 'inserts alone'] as const

export const writes: Suite = {
  about: 'signed receipts, durable before they are answered, against its two ceilings',
  run: async ({ dir, quick, log }) => {
    const [rounds, warm, count] = quick ? [2, 1500, 3000] : [7, 4000, 12_000]
    const delayFile = join(dir, 'loop-delay.json')
    const env = { LOOP_DELAY_FILE: delayFile, NODE_OPTIONS: `--import=${hook.pathname}` }
    const { origin, pid, stop } = await startPlatformService(dir, { env })
    const load = { origins: [origin], warm, signed: count, connections }
    let runs = 0
    const post = async (): Promise<Sample> => {
      runs += 1
      const task = startTask('post-receipts', { ...load, seed: `run ${runs}` })
      await task.next()
      task.go()
      await task.next()
      await takeLoopDelay(pid, delayFile)
      const [before, loopBefore] = [cpuUsOf(pid), cpuUsOfThread(pid, pid)]
      task.go()
      const posted = await task.next()
      const cpuUs = (cpuUsOf(pid) - before) / count
      const loopCpuUs = (cpuUsOfThread(pid, pid) - loopBefore) / count
      return { ...posted, ...(await takeLoopDelay(pid, delayFile)), cpuUs, loopCpuUs }
    }
    const insert = async () => {
      const target = join(dir, 'inserts.db')
      const sample = await runTask('insert-rows', databasePathIn(dir), target, group, count)
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${target}${suffix}`, { force: true })
      return sample
    }
    try {
      log('  a first run, whose rows the inserts alone copy')
      await post()
      const samples = await interleave(rounds, {
        service: post,
        'checks alone': async () => await runTask('check-signatures', 'receipt', warm, count),
        'inserts alone': insert,
      })
      const [all, eventLoop, loadCpu] = ['cpuUs', 'loopCpuUs', 'loadCpuUs'].map((figure) =>
        Math.round(medianOf(samples, `service.${figure}`)),
      )
      const rates = ceilings.map((name) => medianOf(samples, `${name}.perSecond`))
      const lower = ceilings[rates.indexOf(Math.min(...rates))]
      return {
        rows: rowsOf(samples, [
          ...ceilings.flatMap((name) => [
            row(
              name === lower ? 'signed receipts, lower ceiling' : 'signed receipts',
              '1/s',
              'service.perSecond',
              `${name}.perSecond`,
              name === lower ? ratioAtLeast(0.7) : null,
            ),
            row('CPU time of a receipt', 'us', 'service.cpuUs', `${name}.cpuUs`),
          ]),
          row('p99 of the answers', 'ms', 'service.p99Ms', 'service.p50Ms', ratioAtMost(5)),
          row(
            'event loop blocked at most',
            'ms',
            'service.loopMaxMs',
            'service.loopP99Ms',
            atMost(20),
          ),
        ]),
        facts: {
          connections,
          receipts_per_round: count,
          group_of_inserts_alone: group,
          cpu_us_event_loop: eventLoop ?? 0,
          cpu_us_other_threads: (all ?? 0) - (eventLoop ?? 0),
          cpu_us_load_generator: loadCpu ?? 0,
        },
      }
    } finally {
      await stop()
    }
  },
}

async function takeLoopDelay(pid: number, file: string): Promise<z.infer<typeof loopDelay>> {
  rmSync(file, { force: true })
  process.kill(pid, 'SIGUSR2')
  while (!existsSync(file)) await sleep(5)
  return loopDelay.parse(JSON.parse(readFileSync(file, 'utf8')))
}
