/** Pictures of pages as PNG: the first time against sharp alone, and again from memory. */
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { z } from 'zod'

import { createClient } from '../../../src/client/client.ts'
import type { LedgerClient } from '../../../src/client/client.ts'
import { evmSigner } from '../../../src/client/signers.ts'
import { runWorker } from '../processes.ts'
import { compare, median } from '../rounds.ts'
import type { Suite } from '../suite.ts'
import { firstBuild, startWriteService } from '../writes/service.ts'

const sharpResult = z.object({ ms: z.array(z.number()) })
const sharpScript = new URL('../images/sharp-worker.js', import.meta.url)
const WARM_PICTURES = 4
const peerName = 'sharp alone'

export const images: Suite = {
  about: 'GET /og as PNG',
  run: async ({ dir, quick, say }) => {
    const service = await startWriteService(dir, {})
    try {
      const client = createClient({
        baseUrl: service.origin,
        serviceName: 'agent-income-ledger',
        fetch,
        clock: { now: () => Date.now(), sleep: async (ms) => await sleep(ms) },
        random: { bytes: (length) => randomBytes(length) },
        signer: await evmSigner(randomBytes(32)),
      })
      await firstBuild(service.origin)
      await signUp(client)
      const { rails } = await client.rails()
      const pages = rails.map(({ rail }) => `/rails/${rail}`)
      // The first pictures load the renderer and its fonts.
      for (const page of pages.slice(0, WARM_PICTURES)) await timed(client, page, 'png')
      const measured = pages.slice(WARM_PICTURES)
      const perRound = Math.floor(measured.length / (quick ? 3 : 7))
      const first: number[] = []
      const alone: number[] = []
      const again: number[] = []
      for (let at = 0; at + perRound <= measured.length; at += perRound) {
        const round = measured.slice(at, at + perRound)
        say(`  pictures ${at + 1} to ${at + perRound}`)
        const svgs: string[] = []
        const [drawn, kept]: [number[], number[]] = [[], []]
        for (const page of round) svgs.push((await timed(client, page, 'svg')).text)
        for (const page of round) drawn.push((await timed(client, page, 'png')).ms)
        for (const page of round) kept.push((await timed(client, page, 'png')).ms)
        const file = join(dir, 'svgs.json')
        writeFileSync(file, JSON.stringify(svgs))
        const peer = sharpResult.parse(await runWorker(sharpScript, [file]))
        first.push(median(drawn))
        again.push(median(kept))
        alone.push(median(peer.ms))
      }
      return {
        rows: [
          compare({
            what: 'a picture that was not drawn before',
            unit: 'ms',
            ours: first,
            peerName,
            peer: alone,
            target: { of: 'ratio', atMost: 1.15 },
          }),
          compare({
            what: 'the same picture again',
            unit: 'ms',
            ours: again,
            peerName: 'first time',
            peer: first,
            target: { of: 'ratio', atMost: 0.02 },
          }),
        ],
        skipped: [],
        facts: { pictures_per_round: perRound, node: process.version },
      }
    } finally {
      await service.stop()
    }
  },
}

/** With the request and its answer, without the signature of the caller, which is made before. */
async function timed(
  client: LedgerClient,
  page: string,
  format: 'svg' | 'png',
): Promise<{ ms: number; text: string }> {
  const { url, headers } = (await client.calls.card({ page, format })).request
  const startedMs = performance.now()
  const answer = await fetch(url, { headers })
  const bytes = Buffer.from(await answer.arrayBuffer())
  const ms = performance.now() - startedMs
  if (answer.status !== 200) throw new Error(`${page} was answered with ${answer.status}`)
  return { ms, text: format === 'svg' ? bytes.toString('utf8') : '' }
}

async function signUp(client: LedgerClient): Promise<void> {
  const { oaths } = await client.oaths()
  const oath = oaths.find(({ kind }) => kind === 'partner')
  if (oath === undefined) throw new Error('there is no oath for partners')
  const handle = 'bench-pictures'
  await client.signupPartner({ handle, display_name: 'Bench Pictures', tier: 'free' }, oath)
}
