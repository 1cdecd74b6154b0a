/** Pictures of pages as PNG: the first time against sharp alone, and again from memory. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { Agent, get } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { z } from 'zod'

import { createClient } from '../../../src/client/client.ts'
import type { LedgerClient } from '../../../src/client/client.ts'
import { evmSigner } from '../../../src/client/signers.ts'
import { serveRaw, targetOf } from '../images/raw-pictures.ts'
import type { AnsweredPicture } from '../images/raw-pictures.ts'
import { runWorker } from '../processes.ts'
import { compare, median } from '../rounds.ts'
import type { Suite } from '../suite.ts'
import { firstBuild, startWriteService } from '../writes/service.ts'

const sharpResult = z.object({ ms: z.array(z.number()) })
const sharpScript = new URL('../images/sharp-worker.js', import.meta.url)
const WARM_PICTURES = 4
const REPEATS = 5
const peerName = 'sharp alone'

export const images: Suite = {
  about: 'GET /og as PNG',
  run: async ({ dir, quick, say }) => {
    const service = await startWriteService(dir, {})
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
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
      const requestOf = async (page: string, format: 'svg' | 'png'): Promise<SignedRequest> =>
        (await client.calls.card({ page, format })).request
      const asked = async (request: SignedRequest) => await ask(agent, request)
      const { rails } = await client.rails()
      const pages = rails.map(({ rail }) => `/rails/${rail}`)
      // The first pictures load the renderer and its fonts.
      for (const page of pages.slice(0, WARM_PICTURES)) await asked(await requestOf(page, 'png'))
      const measured = pages.slice(WARM_PICTURES)
      const perRound = Math.floor(measured.length / (quick ? 3 : 7))
      const first: number[] = []
      const alone: number[] = []
      const again: number[] = []
      const byNode: number[] = []
      const newlySigned: number[] = []
      for (let at = 0; at + perRound <= measured.length; at += perRound) {
        const round = measured.slice(at, at + perRound)
        say(`  pictures ${at + 1} to ${at + perRound}`)
        const svgs: string[] = []
        const drawn: number[] = []
        const kept: number[] = []
        const raw: number[] = []
        const signed: number[] = []
        for (const page of round) {
          svgs.push((await asked(await requestOf(page, 'svg'))).body.toString('utf8'))
        }
        const requests = await Promise.all(round.map((page) => requestOf(page, 'png')))
        const answered: Answer[] = []
        for (const request of requests) answered.push(await asked(request))
        drawn.push(...answered.map(({ ms }) => ms))
        const peerServer = await serveRaw(dir, answered)
        const peerRequests = answered.map(({ url }) => ({
          url: `${peerServer.origin}${targetOf(url)}`,
          headers: {},
        }))
        // Once for the connection and the compiler.
        for (const request of peerRequests) await asked(request)
        for (let time = 0; time < REPEATS; time += 1) {
          for (const request of requests) kept.push((await asked(request)).ms)
          for (const request of peerRequests) raw.push((await asked(request)).ms)
        }
        await peerServer.stop()
        for (const page of round) signed.push((await asked(await requestOf(page, 'png'))).ms)
        const file = join(dir, 'svgs.json')
        writeFileSync(file, JSON.stringify(svgs))
        const peer = sharpResult.parse(await runWorker(sharpScript, [file]))
        first.push(median(drawn))
        again.push(median(kept))
        byNode.push(median(raw))
        newlySigned.push(median(signed))
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
            what: 'the same request again',
            unit: 'ms',
            ours: again,
            peerName: 'first time',
            peer: first,
            target: { of: 'ratio', atMost: 0.02 },
          }),
          compare({
            what: 'the same request again',
            unit: 'ms',
            ours: again,
            peerName: 'node:http',
            peer: byNode,
          }),
          compare({
            what: 'node:http, the same bytes',
            unit: 'ms',
            ours: byNode,
            peerName: 'first time',
            peer: first,
          }),
          compare({
            what: 'the same picture, signed anew',
            unit: 'ms',
            ours: newlySigned,
            peerName: 'first time',
            peer: first,
          }),
        ],
        skipped: [],
        facts: { pictures_per_round: perRound, node: process.version },
      }
    } finally {
      agent.destroy()
      await service.stop()
    }
  },
}

interface SignedRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

interface Answer extends AnsweredPicture {
  readonly ms: number
}

/** Time until the last byte, over the one connection of the agent. `fetch` alone takes longer than a repeat. */
async function ask(agent: Agent, { url, headers }: SignedRequest): Promise<Answer> {
  const startedMs = performance.now()
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { agent, headers }, resolve).on('error', reject)
  })
  const parts: Buffer[] = []
  answer.on('data', (part: Buffer) => parts.push(part))
  await once(answer, 'end')
  const ms = performance.now() - startedMs
  if (answer.statusCode !== 200) throw new Error(`${url} was answered with ${answer.statusCode}`)
  return { ms, url, rawHeaders: answer.rawHeaders, body: Buffer.concat(parts) }
}

async function signUp(client: LedgerClient): Promise<void> {
  const { oaths } = await client.oaths()
  const oath = oaths.find(({ kind }) => kind === 'partner')
  if (oath === undefined) throw new Error('there is no oath for partners')
  const handle = 'bench-pictures'
  await client.signupPartner({ handle, display_name: 'Bench Pictures', tier: 'free' }, oath)
}
