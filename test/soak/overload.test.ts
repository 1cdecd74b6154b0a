/** Sends five times the receipts that the compiled service can accept. */
import { expect, test } from 'vitest'
import { z } from 'zod'

import { installBoardProgram } from '../e2e/board.ts'
import { addressOf, newLedger, stop, useProgram, withHooks } from '../e2e/ledger.ts'
import { wholeReceipts } from '../e2e/whole-receipts.ts'
import { run } from '../support/program.ts'
import type { Running } from '../support/program.ts'
import { openConnections, post, postOf } from './flood.ts'
import type { Answer, Connection, Flood } from './flood.ts'
import { heapOf, quantile, sampleOf } from './process-samples.ts'

const PHASE_MS = 3000
/** The flood has seven times the concurrency limit, so that every machine refuses most requests. */
const CONNECTIONS = { atCapacity: 64, flood: 2000 } as const
const TIMES = 5
/** A read waits for one turn of the event loop, which may read a request from each connection. */
const READS_SLOWER = CONNECTIONS.flood / CONNECTIONS.atCapacity
/** Memory that may remain: pools of the engine and tables of the limits. */
const REMAINING_BYTES = 16 * 2 ** 20
const FIRST_SIGNED = 2000
const PATIENCE_MS = 60_000

const program = useProgram(installBoardProgram)

const readReport = z.object({
  statuses: z.array(z.number()),
  tookMs: z.object({ document: z.array(z.number()), list: z.array(z.number()) }),
})

/** Runs the flood while a separate process reads. Returns statuses and latencies of the reads. */
async function readWhile(url: string, doing: () => Promise<Flood>) {
  const reader = run(program.scriptOf('test/soak/reader-child.ts'), [url], {})
  await reader.says('reading')
  const flood = await doing()
  reader.kill('SIGTERM')
  expect(await reader.ended, reader.output()).toBe(0)
  const reads = readReport.parse(JSON.parse(/^read: (.*)$/m.exec(reader.output())?.[1] ?? ''))
  return { ...flood, reads }
}

const FEW = 16
const descriptorsOf = ({ pid }: Running): number => sampleOf(pid)?.descriptors ?? Number.NaN

const acceptedOf = ({ answers }: Flood) => answers.filter((one) => one.receiptId !== undefined)
const refusedOf = ({ answers }: Flood) => answers.filter((one) => one.receiptId === undefined)
const tookMs = (some: readonly { readonly tookMs: number }[]) => some.map((one) => one.tookMs)

function isFlood(answers: readonly Answer[], refusal: number): boolean {
  let [accepted, refused] = [0, 0]
  for (const { status, receiptId } of answers) {
    if (receiptId !== undefined) accepted += 1
    else if (status === refusal) refused += 1
  }
  return refused >= (TIMES - 1) * accepted
}

test.for([
  {
    name: 'is refused with 503 above the concurrency limit if rate limits are off',
    limits: 'off',
    refusal: 503,
  },
  { name: 'from one network is refused with 429 at its rate limits', limits: 'on', refusal: 429 },
] as const)(
  'a flood of receipts $name, and every acknowledged receipt is stored once',
  async ({ limits, refusal }) => {
    const ledger = newLedger(program, {
      POLL: 'off',
      LOG_LEVEL: 'warn',
      TRUSTED_PROXIES: '127.0.0.1',
    })
    const builder = ledger.builder(['--once'])
    expect(await builder.ended, builder.output()).toBe(0)
    const service = ledger.service({
      BUILDER: 'off',
      LIMITS: limits,
      LOG_LEVEL: 'info',
      ...withHooks(program, 'test/support/heap-hook.ts'),
    })
    const url = await addressOf(service)
    let made = 0
    const sign = async (count: number, network?: string) => {
      const requests: string[] = []
      for (let at = 0; at < count; at += 1) {
        made += 1
        requests.push(await postOf(made, network))
      }
      return requests
    }

    // Opens new connections for each phase, since the service closes idle ones.
    const first = await sign(FIRST_SIGNED)
    const isTimeOver = (_answers: unknown, passedMs: number) => passedMs >= PHASE_MS
    const atCapacity = async (sent: string[]) => {
      const connections = await openConnections(url, CONNECTIONS.atCapacity)
      const done = await post(connections, sent, isTimeOver)
      for (const connection of connections) connection.close()
      return done
    }
    const warmUp = await atCapacity(first)
    const perMs = warmUp.answers.length / warmUp.tookMs
    const enough = await sign(Math.ceil(2 * perMs * PHASE_MS))
    const calm = await readWhile(url, async () => await atCapacity(enough))
    const capacity = (calm.answers.length / calm.tookMs) * 1000
    const [weight, descriptors] = [await heapOf(service), descriptorsOf(service)]

    const requests = await sign(
      Math.ceil((4 * capacity * PHASE_MS) / 1000) + CONNECTIONS.flood,
      '203.0.113.7',
    )
    const [next = ''] = await sign(1)
    let many: readonly Connection[] = []
    const flood = await readWhile(url, async () => {
      many = await openConnections(url, CONNECTIONS.flood)
      return await post(
        many,
        requests,
        (answers, passedMs) =>
          passedMs >= PHASE_MS && (isFlood(answers, refusal) || passedMs >= PATIENCE_MS),
      )
    })
    const afterwards = await many[0]?.send(next)

    const [accepted, refused] = [acceptedOf(flood), refusedOf(flood)]
    const p50 = (kind: 'document' | 'list', { reads }: typeof flood) =>
      quantile(reads.tookMs[kind], 0.5)
    const figures = {
      limits,
      'capacity, receipts per second': capacity.toFixed(0),
      'answers per second of the flood': ((flood.answers.length / flood.tookMs) * 1000).toFixed(0),
      'accepted per second of the flood': ((accepted.length / flood.tookMs) * 1000).toFixed(0),
    }
    for (const [name, value] of Object.entries(figures)) {
      process.stdout.write(`overload, ${name}: ${value}\n`)
    }

    // The capacity is valid only if no request was refused before the flood.
    expect([...refusedOf(warmUp), ...refusedOf(calm)]).toEqual([])
    expect(isFlood(flood.answers.slice(0, flood.inTime), refusal)).toBe(true)
    expect(accepted.length).toBeGreaterThan(0)
    expect(refused.filter(({ status }) => status !== 429 && status !== 503)).toEqual([])
    expect(refused.filter(({ retryAfter }) => !(Number(retryAfter) > 0))).toEqual([])
    expect(quantile(tookMs(refused), 0.5)).toBeLessThanOrEqual(quantile(tookMs(accepted), 0.5))
    expect([calm, flood].flatMap(({ reads }) => reads.statuses)).toEqual([200, 200])
    for (const kind of ['document', 'list'] as const) {
      expect(p50(kind, flood)).toBeLessThan(READS_SLOWER * p50(kind, calm))
      expect(p50(kind, flood)).toBeLessThan(quantile(tookMs(accepted), 0.5))
    }
    expect(afterwards?.status).toBe(201)

    for (const connection of many) connection.close()
    // The service notices closed connections later, and a few others are kept alive.
    const open = () => descriptorsOf(service)
    await expect.poll(open, { timeout: 60_000 }).toBeLessThanOrEqual(descriptors + FEW)
    const grownBytes = (await heapOf(service)) - weight
    process.stdout.write(
      `overload, heap growth of the service, MiB: ${(grownBytes / 2 ** 20).toFixed(1)}\n`,
    )
    expect(grownBytes).toBeLessThan(REMAINING_BYTES)
    await stop(service)
    const acknowledged = [warmUp, calm, flood]
      .flatMap(acceptedOf)
      .map(({ receiptId }) => receiptId ?? '')
    expect([...(await wholeReceipts(ledger))].toSorted()).toEqual(
      [...acknowledged, afterwards?.receiptId ?? ''].toSorted(),
    )
    ledger.remove()
  },
)
