/**
 * Five times the receipts that the compiled service accepts: excess ones are refused quickly with Retry-After, reads go on,
 * and afterwards nothing remains.
 */
import { expect, test } from 'vitest'
import { z } from 'zod'

import { installBoardProgram } from '../e2e/board.ts'
import { addressOf, newLedger, stop, useProgram, withHooks } from '../e2e/ledger.ts'
import { wholeReceipts } from '../e2e/whole-receipts.ts'
import { run } from '../support/program.ts'
import type { Running } from '../support/program.ts'
import { openConnections, post, postOf } from './flood.ts'
import type { Answer, Connection, Flood } from './flood.ts'
import { quantile, sampleOf } from './process-samples.ts'

const PHASE_MS = 3000
/** At capacity, and seven times the concurrency limit, so that most requests are refused on any machine. */
const CONNECTIONS = { atCapacity: 64, flood: 2000 } as const
const TIMES = 5
/** A read waits for the turn of the event loop, which may read one request of each connection. */
const READS_SLOWER = CONNECTIONS.flood / CONNECTIONS.atCapacity
/** Memory that may stay: pools of the engine, tables of the limits. */
const KEPT_BYTES = 16 * 2 ** 20
const FIRST_SIGNED = 2000
const PATIENCE_MS = 60_000

const program = useProgram(installBoardProgram)

const told = z.object({
  statuses: z.array(z.number()),
  tookMs: z.object({ document: z.array(z.number()), list: z.array(z.number()) }),
})

/** Answers to readers in a separate process. */
async function readWhile(url: string, doing: () => Promise<Flood>) {
  const reader = run(program.scriptOf('test/soak/reader-child.ts'), [url], {})
  await reader.says('reading')
  const flood = await doing()
  reader.kill('SIGTERM')
  expect(await reader.ended, reader.output()).toBe(0)
  const reads = told.parse(JSON.parse(/^read: (.*)$/m.exec(reader.output())?.[1] ?? ''))
  return { ...flood, reads }
}

/** Heap of the service after a garbage collection. */
async function weigh(service: Running): Promise<number> {
  const told = service.next(new RegExp(`heap of ${service.pid} after a collection: (\\d+)\\n`))
  service.kill('SIGUSR2')
  return Number((await told)[1])
}

const FEW = 16
const descriptorsOf = ({ pid }: Running): number => sampleOf(pid)?.descriptors ?? Number.NaN

const takenOf = ({ answers }: Flood) => answers.filter((one) => one.receiptId !== undefined)
const refusedOf = ({ answers }: Flood) => answers.filter((one) => one.receiptId === undefined)
const tookMs = (some: readonly { readonly tookMs: number }[]) => some.map((one) => one.tookMs)

function isFlood(answers: readonly Answer[], refusal: number): boolean {
  let [taken, refused] = [0, 0]
  for (const { status, receiptId } of answers) {
    if (receiptId !== undefined) taken += 1
    else if (status === refusal) refused += 1
  }
  return refused >= (TIMES - 1) * taken
}

test.for([
  {
    name: 'by many networks, or where there are no limits, is refused for want of room',
    limits: 'off',
    refusal: 503,
  },
  { name: 'by one network is refused at its limits', limits: 'on', refusal: 429 },
] as const)(
  'a flood of receipts $name; every acknowledged receipt is stored once',
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

    // New connections: idle ones would be closed.
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
    const [weight, descriptors] = [await weigh(service), descriptorsOf(service)]

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

    const [taken, refused] = [takenOf(flood), refusedOf(flood)]
    const p50 = (kind: 'document' | 'list', { reads }: typeof flood) =>
      quantile(reads.tookMs[kind], 0.5)
    const figures = {
      limits,
      'capacity, receipts a second': capacity.toFixed(0),
      'answered in the flood, a second': ((flood.answers.length / flood.tookMs) * 1000).toFixed(0),
      'taken in it, a second': ((taken.length / flood.tookMs) * 1000).toFixed(0),
      refused: [503, 429].map((code) => refused.filter(({ status }) => status === code).length),
      'p50 and p99 of the refused, then of the taken, ms': [refused, taken].map((some) =>
        [0.5, 0.99].map((part) => quantile(tookMs(some), part).toFixed(1)).join(' '),
      ),
      'reading a document, p50 at capacity and in the flood, ms': [calm, flood].map((phase) =>
        p50('document', phase).toFixed(1),
      ),
      'reading a list, p50 at capacity and in the flood, ms': [calm, flood].map((phase) =>
        p50('list', phase).toFixed(1),
      ),
      'first write afterwards, ms': afterwards?.tookMs.toFixed(1),
    }
    for (const [name, value] of Object.entries(figures)) {
      process.stdout.write(`overload, ${name}: ${String(value)}\n`)
    }

    // Before the flood everything was taken, or this would be no capacity.
    expect([...refusedOf(warmUp), ...refusedOf(calm)]).toEqual([])
    expect(isFlood(flood.answers.slice(0, flood.inTime), refusal)).toBe(true)
    expect(taken.length).toBeGreaterThan(0)
    expect(refused.filter(({ status }) => status !== 429 && status !== 503)).toEqual([])
    expect(refused.filter(({ retryAfter }) => !(Number(retryAfter) > 0))).toEqual([])
    expect(quantile(tookMs(refused), 0.5)).toBeLessThanOrEqual(quantile(tookMs(taken), 0.5))
    expect([calm, flood].flatMap(({ reads }) => reads.statuses)).toEqual([200, 200])
    for (const kind of ['document', 'list'] as const) {
      expect(p50(kind, flood)).toBeLessThan(READS_SLOWER * p50(kind, calm))
      expect(p50(kind, flood)).toBeLessThan(quantile(tookMs(taken), 0.5))
    }
    // At once: at its first try.
    expect(afterwards?.status).toBe(201)

    for (const connection of many) connection.close()
    // A connection that is closed here has not ended there by then; a few others are kept alive.
    const open = () => descriptorsOf(service)
    await expect.poll(open, { timeout: 60_000 }).toBeLessThanOrEqual(descriptors + FEW)
    const kept = (await weigh(service)) - weight
    process.stdout.write(`overload, kept by the service, MiB: ${(kept / 2 ** 20).toFixed(1)}\n`)
    expect(kept).toBeLessThan(KEPT_BYTES)
    await stop(service)
    const acknowledged = [warmUp, calm, flood]
      .flatMap(takenOf)
      .map(({ receiptId }) => receiptId ?? '')
    expect([...(await wholeReceipts(ledger))].toSorted()).toEqual(
      [...acknowledged, afterwards?.receiptId ?? ''].toSorted(),
    )
    ledger.remove()
  },
)
