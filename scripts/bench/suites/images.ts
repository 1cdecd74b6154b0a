/** Pictures of pages as PNG: the first time against sharp alone, and again against node:http with one look-up. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { median } from '../../../src/core/median.ts'
import { startNodeServer } from '../../../test/support/server-process.ts'
import type { ServerProcess } from '../../../test/support/server-process.ts'
import { cpuUsOf } from '../cpu.ts'
import { createReader } from '../reader.ts'
import type { ReadRequest, TimedBody } from '../reader.ts'
import { ratioAtMost, row, rowsOf } from '../rows.ts'
import type { Sample } from '../samples.ts'
import { databasePathIn, firstBuild, partnerOf, startPlatformService } from '../service.ts'
import { benchProgram, runTask } from '../start-task.ts'
import type { Suite } from '../suite.ts'

const warmPictures = 4
const repeats = 20

export const images: Suite = {
  about: 'GET /og as PNG',
  run: async ({ dir, quick, log }) => {
    const service = await startPlatformService(dir, { builder: true })
    const { read, close } = createReader()
    const readAll = async (requests: readonly ReadRequest[]): Promise<TimedBody[]> => {
      const answers: TimedBody[] = []
      for (const each of requests) answers.push(await read(each))
      return answers
    }
    const medianMs = async (requests: readonly ReadRequest[]) =>
      median((await readAll(requests)).map(({ ms }) => ms))
    const cpuUsEach = async ({ pid }: ServerProcess, requests: readonly ReadRequest[]) => {
      const before = cpuUsOf(pid)
      await readAll(requests)
      return (cpuUsOf(pid) - before) / requests.length
    }
    try {
      await firstBuild(service)
      const client = await partnerOf(service)
      const sign = async (pages: readonly string[], format: 'svg' | 'png') =>
        await Promise.all(
          pages.map(
            async (page) => (await client.prepare('getCard', { query: { page, format } })).request,
          ),
        )
      const { rails } = await client.call('listRails')
      const pages = rails.map(({ rail }) => `/rails/${rail}`)
      await readAll(await sign(pages.slice(0, warmPictures), 'png'))
      const measured = pages.slice(warmPictures)
      const perRound = Math.floor(measured.length / (quick ? 3 : 7))
      const samples: Sample[] = []
      for (let at = 0; at + perRound <= measured.length; at += perRound) {
        log(`  pictures ${at + 1} to ${at + perRound}`)
        const round = measured.slice(at, at + perRound)
        const svgs = await readAll(await sign(round, 'svg'))
        const file = join(dir, 'svgs.json')
        writeFileSync(file, JSON.stringify(svgs.map(({ body }) => body.toString())))
        const requests = await sign(round, 'png')
        const firstMs = await medianMs(requests)
        const again = Array.from({ length: repeats }, () => requests).flat()
        const [picture] = await readAll(requests.slice(0, 1))
        writeFileSync(join(dir, 'picture.png'), picture?.body ?? '')
        const env = { DATABASE: databasePathIn(dir), PICTURE: join(dir, 'picture.png') }
        const peer = await startNodeServer(benchProgram('peers/picture'), { env, readyPath: '/' })
        const ofPeer = again.map(() => ({ url: peer.origin }))
        await readAll(ofPeer)
        samples.push({
          'service.firstMs': firstMs,
          'service.againUs': await cpuUsEach(service, again),
          'node:http.againUs': await cpuUsEach(peer, ofPeer),
          'service.newlySignedMs': await medianMs(await sign(round, 'png')),
          'sharp alone.ms': Number((await runTask('draw-with-sharp', file))['ms']),
        })
        await peer.stop()
      }
      const first = 'service.firstMs'
      return {
        rows: rowsOf(samples, [
          row('a new picture', 'ms', first, 'sharp alone.ms', ratioAtMost(1.15)),
          row('again, CPU', 'us', 'service.againUs', 'node:http.againUs', ratioAtMost(1.5)),
          row('the same picture, signed anew', 'ms', 'service.newlySignedMs', first),
        ]),
        facts: { pictures_per_round: perRound },
      }
    } finally {
      close()
      await service.stop()
    }
  },
}
