/** The site of a thousand pages: all of it, and after one change. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

import { z } from 'zod'

import { ofEach } from '../pages/large-world.ts'
import { runWorker } from '../processes.ts'
import { compare, median } from '../rounds.ts'
import type { Suite } from '../suite.ts'

const times = { ms: z.number(), cpuMs: z.number() }
const result = z.object({
  pages: z.number(),
  full: z.object(times),
  one: z.object({ ...times, changed: z.array(z.string()) }),
  copy: z.object({ ...times, files: z.number() }),
})

const script = new URL('../pages/pages-worker.js', import.meta.url)

export const pages: Suite = {
  about: `the site of ${ofEach} rails, workers and receipts each: all of it, and after one change`,
  run: async ({ dir, quick, say }) => {
    const rounds: z.infer<typeof result>[] = []
    for (let round = 0; round < (quick ? 2 : 7); round += 1) {
      say(`  round ${round + 1}`)
      const home = join(dir, `pages-${round}`)
      mkdirSync(home)
      rounds.push(result.parse(await runWorker(script, [home])))
    }
    const fullMs = rounds.map(({ full }) => full.ms)
    const copy = { peerName: 'copy', peer: rounds.map((round) => round.copy.ms) }
    return {
      rows: [
        compare({
          ...copy,
          what: 'a thousand pages',
          unit: 'ms',
          ours: fullMs,
          target: { of: 'ours', atMost: 5000 },
        }),
        compare({
          what: 'a thousand pages, time of all threads',
          unit: 'cpu ms',
          ours: rounds.map(({ full }) => full.cpuMs),
          peerName: 'copy',
          peer: rounds.map((round) => round.copy.cpuMs),
        }),
        compare({
          what: 'after one change, time of all threads',
          unit: 'cpu ms',
          ours: rounds.map(({ one }) => one.cpuMs),
          peerName: 'all of it',
          peer: rounds.map(({ full }) => full.cpuMs),
        }),
        compare({
          what: 'after one change',
          unit: 'ms',
          ours: rounds.map(({ one }) => one.ms),
          peerName: 'all of it',
          peer: fullMs,
        }),
      ],
      skipped: [],
      facts: {
        pages: median(rounds.map((round) => round.pages)),
        files: median(rounds.map((round) => round.copy.files)),
        changed_by_one_receipt: [...new Set(rounds.flatMap(({ one }) => one.changed))].join(' '),
        node: process.version,
      },
    }
  },
}
