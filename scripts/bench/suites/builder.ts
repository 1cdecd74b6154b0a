/** Builds of a year of polls: against reading the same rows and writing the same bytes. */
import { realpathSync } from 'node:fs'
import { join } from 'node:path'

import { z } from 'zod'

import { makeFixture, pollsCount, railsCount } from '../builder/fixture.ts'
import { runWorker } from '../processes.ts'
import { compare, median } from '../rounds.ts'
import { manyReceipts } from '../start/ledger.ts'
import type { Suite } from '../suite.ts'

const again = z.object({ ms: z.number(), cpuMs: z.number(), changed: z.array(z.string()) })
const buildResult = z.object({
  full: z.object({ ms: z.number(), cpuMs: z.number(), documents: z.number() }),
  fullPeakMb: z.number(),
  unchanged: again,
  oneReceipt: again,
  warm: z.object({ ms: z.number(), cpuMs: z.number() }),
})
const copyResult = z.object({
  ms: z.number(),
  cpuMs: z.number(),
  linksCpuMs: z.number(),
  peakMb: z.number(),
  rows: z.number(),
  files: z.number(),
  written: z.number(),
})

const buildScript = new URL('../builder/build-worker.js', import.meta.url)
const copyScript = new URL('../builder/copy-worker.js', import.meta.url)
const peerName = 'copy'
const bytesPerMb = 2 ** 20

export const builder: Suite = {
  about: `builds of ${railsCount} rails with a year of polls, in full, unchanged and after one receipt`,
  run: async ({ dir, quick, say, shared }) => {
    const rounds = quick ? 2 : 7
    const receipts = manyReceipts(quick)
    say(`  ${receipts} receipts and ${pollsCount} polls are written`)
    await makeFixture(dir, receipts, shared)
    const builds: z.infer<typeof buildResult>[] = []
    const copies: z.infer<typeof copyResult>[] = []
    for (let round = 0; round < rounds; round += 1) {
      say(`  round ${round + 1} of ${rounds}`)
      const stateDir = join(dir, `build-${round}`)
      const targetDir = join(dir, `copy-${round}`)
      builds.push(buildResult.parse(await runWorker(buildScript, [dir, stateDir])))
      // The peer needs the bytes of a build, so it always comes second.
      const published = realpathSync(join(stateDir, 'public/current'))
      copies.push(copyResult.parse(await runWorker(copyScript, [dir, published, targetDir])))
    }
    const fullMs = builds.map(({ full }) => full.ms)
    const unchangedPaths = new Set(builds.flatMap(({ unchanged }) => unchanged.changed))
    const copyMs = copies.map(({ ms }) => ms)
    const peer = { peerName, ours: fullMs, peer: copyMs }
    const whole = { peerName: 'full build', peer: builds.map(({ full }) => full.cpuMs) }
    const memory = { peerName, peer: copies.map(({ peakMb }) => peakMb) }
    const size = `${receipts.toLocaleString('en-US')} receipts`
    return {
      rows: [
        compare({
          ...peer,
          what: `full build, ${size}`,
          unit: 'ms',
          target: { of: 'ratio', atMost: 3 },
        }),
        compare({
          what: `full build, ${size}, time of all threads`,
          unit: 'cpu ms',
          ours: builds.map(({ full }) => full.cpuMs),
          peerName,
          peer: copies.map(({ cpuMs }) => cpuMs),
        }),
        compare({
          what: `full build, ${size}, peak memory`,
          unit: 'MB',
          ours: builds.map(({ fullPeakMb }) => fullPeakMb),
          ...memory,
          target: { of: 'ours', atMost: 400 },
        }),
        compare({
          what: `unchanged build, ${size}, time of all threads`,
          unit: 'cpu ms',
          ours: builds.map(({ unchanged }) => unchanged.cpuMs),
          ...whole,
        }),
        compare({
          what: `after one receipt, ${size}, time of all threads`,
          unit: 'cpu ms',
          ours: builds.map(({ oneReceipt }) => oneReceipt.cpuMs),
          ...whole,
          target: { of: 'ratio', atMost: 0.01 },
        }),
        compare({
          what: `after one receipt, builder warm, ${size}, time of all threads`,
          unit: 'cpu ms',
          ours: builds.map(({ warm }) => warm.cpuMs),
          ...whole,
          target: { of: 'ratio', atMost: 0.01 },
        }),
        compare({
          what: `after one receipt, ${size}, beside links alone`,
          unit: 'cpu ms',
          ours: builds.map(({ oneReceipt }) => oneReceipt.cpuMs),
          peerName: 'links',
          peer: copies.map(({ linksCpuMs }) => linksCpuMs),
        }),
        compare({
          what: `after one receipt, ${size}`,
          unit: 'ms',
          ours: builds.map(({ oneReceipt }) => oneReceipt.ms),
          peerName: 'full build',
          peer: fullMs,
        }),
        compare({
          what: `after one receipt, builder warm, ${size}`,
          unit: 'ms',
          ours: builds.map(({ warm }) => warm.ms),
          peerName: 'full build',
          peer: fullMs,
        }),
        compare({
          what: `after one receipt, ${size}, documents written`,
          unit: 'documents',
          ours: builds.map(({ oneReceipt }) => oneReceipt.changed.length),
          peerName: 'full build',
          peer: builds.map(({ full }) => full.documents),
        }),
      ],
      skipped: [],
      facts: {
        polls: pollsCount,
        rows_read: median(copies.map(({ rows }) => rows)),
        documents: median(builds.map(({ full }) => full.documents)),
        files_written: median(copies.map(({ files }) => files)),
        mb_written: Math.round(median(copies.map(({ written }) => written)) / bytesPerMb),
        receipts,
        changed_by_an_unchanged_build: [...unchangedPaths].join(' ') || 'nothing',
        changed_by_one_receipt: builds[0]?.oneReceipt.changed.join(' ') ?? '',
        node: process.version,
      },
    }
  },
}
