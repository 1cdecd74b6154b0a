/** Sends five times the receipts that the compiled service can accept. */
import { expect, test } from 'vitest'

import { boardReceipt, installBoardProgram } from '../e2e/board.ts'
import { addressOf, newLedger, stop, useProgram, withHooks } from '../e2e/ledger.ts'
import { wholeReceipts } from '../e2e/whole-receipts.ts'
import { startClients } from '../support/client-process.ts'
import { openConnections } from '../support/clients.ts'
import type { Timed } from '../support/clients.ts'
import { headerOf, requestText } from '../support/keep-alive.ts'
import type { Answer, Connection } from '../support/keep-alive.ts'
import { percentile } from '../support/percentile.ts'
import { heapOf, sampleOf } from '../support/process-samples.ts'
import type { Running } from '../support/program.ts'
import { nearWallet } from '../support/wallets.ts'

const PHASE_MS = 3000
/** The flood has seven times the concurrency limit, so that every machine refuses most requests. */
const CONNECTIONS = { atCapacity: 64, flood: 2000 } as const
const TIMES = 5
/** A read waits for one iteration of the event loop, which may read a request from each connection. */
const READS_SLOWER = CONNECTIONS.flood / CONNECTIONS.atCapacity
/** Memory that may remain: pools of the engine and tables of the limits. */
const REMAINING_BYTES = 16 * 2 ** 20
const FIRST_SIGNED = 2000
const PATIENCE_MS = 60_000

const program = useProgram(installBoardProgram)

const wallets = Array.from({ length: 500 }, (_, at) => nearWallet(`flood ${at}`))

/** By default each wallet has its own network. */
async function postOf(at: number, network?: string): Promise<string> {
  const wallet = at % wallets.length
  const from = network ?? `100.64.${wallet >> 8}.${wallet & 255}`
  const body = await boardReceipt(at, 0, wallets[wallet])
  return requestText({ path: '/api/v1/receipts', headers: { 'X-Forwarded-For': from }, body })
}

const kinds = { document: '/api/v1/rails', list: '/api/v1/receipts?rail=x402&limit=5' } as const
/** A document and a list alternately. */
const reads = Array.from({ length: 5000 }, (_, at) =>
  Object.values(kinds).map((path) => readOf(path, at)),
).flat()

function readOf(path: string, at: number): string {
  return requestText({ path, headers: { 'X-Forwarded-For': `198.18.${at >> 8}.${at & 255}` } })
}

interface Flood {
  readonly answers: readonly Answer[]
  /** Number of answers before the end of the flood; later answers belong to requests in flight. */
  readonly inTime: number
  readonly tookMs: number
}

/** Each connection sends its next request after an answer; refused requests are sent again. */
async function post(
  connections: readonly Connection[],
  requests: string[],
  isOver: (answers: readonly Answer[], passedMs: number) => boolean,
): Promise<Flood> {
  const startMs = performance.now()
  const answers: Answer[] = []
  let inTime: number | null = null
  const client = async ({ send }: Connection) => {
    for (;;) {
      if (inTime === null && isOver(answers, performance.now() - startMs)) inTime = answers.length
      const request = inTime === null ? requests.pop() : undefined
      if (request === undefined) return
      const answer = await send(request)
      // The service may close an idle connection at this moment.
      if (answer.status > 0) answers.push(answer)
      if (!isAccepted(answer)) requests.unshift(request)
    }
  }
  await Promise.all(connections.map(client))
  return { answers, inTime: inTime ?? answers.length, tookMs: performance.now() - startMs }
}

/** Runs the flood while another process reads. */
async function readWhile(url: string, doing: () => Promise<Flood>) {
  const reader = startClients(program)
  const address = addressIn(url)
  const order = { address, requests: reads, clients: 1, gapMs: 10, durationMs: 2 * PATIENCE_MS }
  const reading = reader.follow(order)
  const flood = await doing()
  reader.stop()
  const answers = await reading
  reader.end()
  const each = (turn: number) => answers.filter((_, at) => at % 2 === turn)
  return { ...flood, reads: { document: each(0), list: each(1) } }
}

function addressIn(url: string) {
  const { hostname: host, port } = new URL(url)
  return { host, port: Number(port) }
}

/** A repetition of a request whose answer was lost receives 200. */
const isAccepted = ({ status }: Answer) => status === 200 || status === 201

const FEW = 16
const descriptorsOf = ({ pid }: Running): number => sampleOf(pid)?.descriptors ?? Number.NaN

const acceptedOf = ({ answers }: Flood) => answers.filter(isAccepted)
const refusedOf = ({ answers }: Flood) => answers.filter((one) => !isAccepted(one))
const receiptIn = (answer?: Answer) =>
  /"receipt_id":"(rcp_[0-9a-f]{64})"/.exec(answer?.text ?? '')?.[1] ?? ''
const p50 = (some: readonly Timed[]) =>
  percentile(
    some.map((one) => one.tookMs),
    0.5,
  )

function isFlood(answers: readonly Answer[], refusal: number): boolean {
  const accepted = answers.filter(isAccepted).length
  return answers.filter(({ status }) => status === refusal).length >= (TIMES - 1) * accepted
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
      const connections = await openConnections(addressIn(url), CONNECTIONS.atCapacity)
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
      many = await openConnections(addressIn(url), CONNECTIONS.flood)
      return await post(
        many,
        requests,
        (answers, passedMs) =>
          passedMs >= PHASE_MS && (isFlood(answers, refusal) || passedMs >= PATIENCE_MS),
      )
    })
    const afterwards = await many[0]?.send(next)

    const [accepted, refused] = [acceptedOf(flood), refusedOf(flood)]
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
    expect(refused.filter(({ text }) => !(Number(headerOf(text, 'retry-after')) > 0))).toEqual([])
    expect(p50(refused)).toBeLessThanOrEqual(p50(accepted))
    for (const kind of ['document', 'list'] as const) {
      const [atRest, during] = [calm.reads[kind], flood.reads[kind]]
      const statuses = new Set([...atRest, ...during].map(({ status }) => status))
      expect(statuses).toEqual(new Set([200]))
      expect(p50(during)).toBeLessThan(READS_SLOWER * p50(atRest))
      expect(p50(during)).toBeLessThan(p50(accepted))
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
    const acknowledged = [...[warmUp, calm, flood].flatMap(acceptedOf), afterwards].map(receiptIn)
    expect([...(await wholeReceipts(ledger))].toSorted()).toEqual(acknowledged.toSorted())
    ledger.remove()
  },
)
