/** Pictures of pages as PNG: the first time against sharp alone, and again from memory. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { runTask } from '../processes.ts'
import { createRequester, startRawServer } from '../raw-server.ts'
import type { RawRequestLine, TimedAnswer } from '../raw-server.ts'
import { median, row, rowsOf } from '../rows.ts'
import type { Sample } from '../rows.ts'
import { firstBuild, signUpPartner, startPlatformService } from '../service.ts'
import type { Suite } from '../suite.ts'

const warmPictures = 4
const repeats = 5

export const images: Suite = {
  about: 'GET /og as PNG',
  run: async ({ dir, quick, log }) => {
    const service = await startPlatformService(dir, { builder: true })
    const { request, close } = createRequester()
    const requestAll = async (requests: readonly RawRequestLine[]): Promise<TimedAnswer[]> => {
      const answers: TimedAnswer[] = []
      for (const one of requests) answers.push(await request(one))
      return answers
    }
    try {
      await firstBuild(service)
      const client = await signUpPartner(service)
      const sign = async (pages: readonly string[], format: 'svg' | 'png') =>
        await Promise.all(
          pages.map(
            async (page) => (await client.prepare('getCard', { query: { page, format } })).request,
          ),
        )
      const { rails } = await client.call('listRails')
      const pages = rails.map(({ rail }) => `/rails/${rail}`)
      await requestAll(await sign(pages.slice(0, warmPictures), 'png'))
      const measured = pages.slice(warmPictures)
      const perRound = Math.floor(measured.length / (quick ? 3 : 7))
      const samples: Sample[] = []
      for (let at = 0; at + perRound <= measured.length; at += perRound) {
        log(`  pictures ${at + 1} to ${at + perRound}`)
        const round = measured.slice(at, at + perRound)
        const svgs = await requestAll(await sign(round, 'svg'))
        const requests = await sign(round, 'png')
        const first = await requestAll(requests)
        const targets = requests.map(({ url }) => url.slice(service.origin.length))
        const answers = new Map(first.map((answer, nth) => [targets[nth] ?? '', answer]))
        const raw = await startRawServer(join(dir, 'raw.json'), answers)
        const rawRequests = targets.map((target) => ({ url: `${raw.origin}${target}` }))
        await requestAll(rawRequests)
        const again: TimedAnswer[] = []
        const byNode: TimedAnswer[] = []
        for (let time = 0; time < repeats; time += 1) {
          again.push(...(await requestAll(requests)))
          byNode.push(...(await requestAll(rawRequests)))
        }
        await raw.stop()
        const newlySigned = await requestAll(await sign(round, 'png'))
        const file = join(dir, 'svgs.json')
        writeFileSync(file, JSON.stringify(svgs.map(({ body }) => body.toString())))
        samples.push({
          firstMs: medianMs(first),
          againMs: medianMs(again),
          byNodeMs: medianMs(byNode),
          newlySignedMs: medianMs(newlySigned),
          sharpMs: Number((await runTask('draw-with-sharp', file))['ms']),
        })
      }
      return {
        rows: rowsOf(samples, { name: 'first time', samples, figure: 'firstMs' }, [
          row('a picture that was not drawn before', 'ms', 'firstMs', {
            peer: { name: 'sharp alone', samples, figure: 'sharpMs' },
            target: { of: 'ratio', atMost: 1.15 },
          }),
          row('the same request again', 'ms', 'againMs', { target: { of: 'ratio', atMost: 0.02 } }),
          row('the same request again', 'ms', 'againMs', {
            peer: { name: 'node:http', samples, figure: 'byNodeMs' },
          }),
          row('node:http, the same bytes', 'ms', 'byNodeMs'),
          row('the same picture, signed anew', 'ms', 'newlySignedMs'),
        ]),
        skipped: [],
        facts: { pictures_per_round: perRound },
      }
    } finally {
      close()
      await service.stop()
    }
  },
}

function medianMs(answers: readonly TimedAnswer[]): number {
  return median(answers.map(({ ms }) => ms))
}
