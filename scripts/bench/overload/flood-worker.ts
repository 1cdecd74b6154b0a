/**
 * `<origin> <seed> <signed> <perSecond> <durationMs> <connections>`: signs receipts, waits for a line on standard input, then posts
 * them for that long. At 0 a second 64 connections send each its next when the last is answered: as much as the
 * service can take. Otherwise that many a second are sent whatever comes back, as far as the connections go, and what
 * is refused is sent again later. Where all that was signed is taken or under way, nothing more is sent. Prints what came back, and how long the next write took after the flood.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

import { createReceiptMaker } from '../writes/receipts.ts'

const [origin = '', seed = '', ...numbers] = process.argv.slice(2)
const [signed = 0, perSecond = 0, durationMs = 0, openConnections = 0] = numbers.map(Number)
const { hostname, port, host } = new URL(origin)

const CLOSED_CONNECTIONS = 64
const TICK_MS = 2

interface Connection {
  /** Sends one request and resolves with the status of its answer. */
  readonly send: (request: Buffer) => Promise<number>
}

const maker = await createReceiptMaker(seed)
const nowMs = Date.now()
const waiting = Array.from({ length: signed }, (_, at) => requestOf(at))
const spare = requestOf(signed)
const free: Connection[] = []
const wanted = perSecond === 0 ? CLOSED_CONNECTIONS : openConnections
while (free.length < wanted) free.push(await connection())
process.stdout.write('signed\n')
await once(process.stdin, 'data')

const statuses: Record<number, number> = {}
const latenciesMs: { taken: number[]; refused: number[] } = { taken: [], refused: [] }
const startedMs = performance.now()
const endMs = startedMs + durationMs
let lastTakenMs = startedMs
await (perSecond === 0 ? sendInTurn() : sendOnTime())
const floodEndMs = performance.now()
let nextStatus = 0
while (nextStatus !== 201) {
  nextStatus = (await free[0]?.send(spare)) ?? 0
  if (nextStatus !== 201 && nextStatus !== 503) throw new Error(`answered ${nextStatus}`)
}
const recoveredMs = performance.now() - floodEndMs

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.floor(sorted.length * share)] ?? 0
for (const list of Object.values(latenciesMs)) list.sort((left, right) => left - right)
const { taken, refused } = latenciesMs
const result = {
  statuses,
  taken: taken.length + 1,
  perSecond: (taken.length / (lastTakenMs - startedMs)) * 1000,
  offeredPerSecond: ((taken.length + refused.length) / durationMs) * 1000,
  takenP50Ms: at(taken, 0.5),
  takenP99Ms: at(taken, 0.99),
  refusedP50Ms: at(refused, 0.5),
  refusedP99Ms: at(refused, 0.99),
  recoveredMs,
}
process.stdout.write(`${JSON.stringify(result)}\n`)
process.exit(0)

function requestOf(number: number): Buffer {
  const { raw } = maker.make(number, nowMs)
  const head = `POST /api/v1/receipts HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n`
  return Buffer.from(`${head}Content-Length: ${Buffer.byteLength(raw)}\r\n\r\n${raw}`)
}

async function sendInTurn(): Promise<void> {
  const client = async (mine: Connection): Promise<void> => {
    for (;;) {
      const request = performance.now() < endMs ? waiting.shift() : undefined
      if (request === undefined) return
      await post(mine, request)
    }
  }
  await Promise.all(free.map(client))
}

async function sendOnTime(): Promise<void> {
  const underWay = new Set<Promise<unknown>>()
  let sent = 0
  while (performance.now() < endMs) {
    const due = Math.floor(((performance.now() - startedMs) / 1000) * perSecond)
    for (; sent < due; sent += 1) {
      const mine = waiting.length === 0 ? undefined : free.pop()
      const request = mine === undefined ? undefined : waiting.shift()
      if (mine === undefined || request === undefined) break
      const one = post(mine, request).then(() => free.push(mine))
      underWay.add(one)
      void one.finally(() => underWay.delete(one))
    }
    await sleep(TICK_MS)
  }
  await Promise.all(underWay)
}

async function post(mine: Connection, request: Buffer): Promise<void> {
  const sentMs = performance.now()
  const status = await mine.send(request)
  const answeredMs = performance.now()
  statuses[status] = (statuses[status] ?? 0) + 1
  if (status === 201) {
    latenciesMs.taken.push(answeredMs - sentMs)
    lastTakenMs = answeredMs
  } else {
    latenciesMs.refused.push(answeredMs - sentMs)
    waiting.push(request)
  }
}

async function connection(): Promise<Connection> {
  const socket = connect(Number(port), hostname)
  socket.setNoDelay(true)
  await once(socket, 'connect')
  let received = Buffer.alloc(0)
  let settle: { resolve: (status: number) => void; reject: (error: Error) => void } | null = null
  socket.on('error', (error) => settle?.reject(error))
  socket.on('close', () => settle?.reject(new Error('the service closed a connection')))
  socket.on('data', (chunk) => {
    received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
    const headEnd = received.indexOf('\r\n\r\n')
    if (headEnd === -1) return
    const head = received.subarray(0, headEnd).toString('latin1')
    const end = headEnd + 4 + Number(/^content-length: (\d+)/im.exec(head)?.[1])
    if (received.length < end) return
    received = received.subarray(end)
    settle?.resolve(Number(head.slice(9, 12)))
  })
  return {
    send: (request) =>
      new Promise((resolve, reject) => {
        settle = { resolve, reject }
        socket.write(request)
      }),
  }
}
