/** Durable signed receipts from 64 clients, against a bare service with the same checks and rows. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'

import { startNodeServer } from '../../../test/support/server-process.ts'
import type { ServerProcess } from '../../../test/support/server-process.ts'
import { cpuUsOf, cpuUsOfThread } from '../cpu.ts'
import { ratioAtLeast, ratioAtMost, row, rowsOf } from '../rows.ts'
import { interleave, medianOf } from '../samples.ts'
import type { Sample } from '../samples.ts'
import { databasePathIn, startPlatformService } from '../service.ts'
import { benchProgram, startTask } from '../start-task.ts'
import type { Suite } from '../suite.ts'

const connections = 64

export const writes: Suite = {
  about: 'signed receipts, durable before they are answered, against a bare service',
  run: async ({ dir, quick, log }) => {
    const [rounds, warm, count] = quick ? [2, 1500, 3000] : [7, 4000, 12_000]
    const service = await startPlatformService(dir)
    let runs = 0
    const post = async ({ origin, pid }: ServerProcess): Promise<Sample> => {
      runs += 1
      const load = { origins: [origin], warm, signed: count, connections, seed: `run ${runs}` }
      const task = startTask('post-receipts', load)
      await task.next()
      task.go()
      await task.next()
      const [before, loopBefore] = [cpuUsOf(pid), cpuUsOfThread(pid, pid)]
      task.go()
      const posted = await task.next()
      const cpuUs = (cpuUsOf(pid) - before) / count
      return { ...posted, cpuUs, loopCpuUs: (cpuUsOfThread(pid, pid) - loopBefore) / count }
    }
    const postToPeer = async (): Promise<Sample> => {
      const target = join(dir, 'bare.db')
      const env = { SOURCE: databasePathIn(dir), TARGET: target }
      const peer = await startNodeServer(benchProgram('peers/bare-receipts'), {
        env,
        readyPath: '/',
      })
      try {
        return await post(peer)
      } finally {
        await peer.stop()
        for (const suffix of ['', '-wal', '-shm']) rmSync(`${target}${suffix}`, { force: true })
      }
    }
    try {
      log('  a first run, whose rows the bare service copies')
      await post(service)
      const samples = await interleave(rounds, {
        service: async () => await post(service),
        'bare service': postToPeer,
      })
      const facts = ['cpuUs', 'loopCpuUs', 'loadCpuUs'].map(
        (figure) => [figure, Math.round(medianOf(samples, `service.${figure}`))] as const,
      )
      const [ours, peer] = ['service', 'bare service']
      return {
        rows: rowsOf(samples, [
          row('signed receipt, CPU', 'us', `${ours}.cpuUs`, `${peer}.cpuUs`, ratioAtMost(1.15)),
          row(
            'signed receipts',
            '1/s',
            `${ours}.perSecond`,
            `${peer}.perSecond`,
            ratioAtLeast(0.85),
          ),
          row('signed receipt, p99', 'ms', `${ours}.p99Ms`, `${peer}.p99Ms`),
        ]),
        facts: { connections, receipts_per_round: count, ...Object.fromEntries(facts) },
      }
    } finally {
      await service.stop()
    }
  },
}
