import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

import { percentile } from '../samples.ts'
import { receiptsPath } from '../service.ts'
import { signReceipts } from '../signed-receipts.ts'
import { pause, timed } from '../task.ts'

type Connection = Awaited<ReturnType<typeof openConnection>>

export interface ReceiptLoad {
  readonly origin: string
  readonly seed: string
  /** Number of receipts that are posted before the measurement. */
  readonly warm: number
  /** Number of receipts in the measurement, which ends after the last receipt. */
  readonly signed: number
  /**
   * At 0 each connection posts its next receipt when the last one is answered. Otherwise that many a second are sent as far
   * as there are free connections, and refused ones are sent again.
   */
  readonly perSecond: number
  readonly durationMs: number
  readonly connections: number
}

const sendEveryMs = 2

/** Signs receipts, pauses, posts the warm-up, pauses, and posts the others. */
export async function run(load: ReceiptLoad) {
  const { warm, signed, perSecond, durationMs } = load
  const url = new URL(load.origin)
  const receipts = await signReceipts(load.seed, warm + signed + 1)
  const requests = receipts.map((raw) =>
    Buffer.from(
      `POST ${receiptsPath} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${Buffer.byteLength(raw)}\r\n\r\n${raw}`,
    ),
  )
  const spare = requests.pop() ?? Buffer.alloc(0)
  const connections = await Promise.all(
    Array.from({ length: load.connections }, () => openConnection(url)),
  )
  await pause()

  let startedMs = performance.now()
  let lastAcceptedMs = startedMs
  let endMs = Infinity
  const latenciesMs: { accepted: number[]; refused: number[] } = { accepted: [], refused: [] }
  await postInTurn(requests.splice(0, warm))
  latenciesMs.accepted = []
  await pause()

  startedMs = performance.now()
  endMs = startedMs + durationMs
  const { cpuMs } = await timed(() =>
    perSecond === 0 ? postInTurn(requests) : postOnTime(requests),
  )
  const { accepted, refused } = latenciesMs
  const count = accepted.length
  const floodEndMs = performance.now()
  while ((await connections[0]?.send(spare)) !== 201);
  const recoveryMs = performance.now() - floodEndMs
  for (const { close } of connections) close()
  return {
    accepted: count + 1,
    refused: refused.length,
    perSecond: (count / (lastAcceptedMs - startedMs)) * 1000,
    offeredPerSecond: ((count + refused.length) / durationMs) * 1000,
    p50Ms: percentile(accepted, 0.5),
    p99Ms: percentile(accepted, 0.99),
    refusedP99Ms: percentile(refused, 0.99),
    loadCpuUs: (cpuMs * 1000) / count,
    recoveryMs,
  }

  async function postInTurn(queue: Buffer[]): Promise<void> {
    await Promise.all(
      connections.map(async (connection) => {
        while (performance.now() < endMs) {
          const request = queue.shift()
          if (request === undefined) return
          await post(connection, request, queue)
        }
      }),
    )
  }

  async function postOnTime(queue: Buffer[]): Promise<void> {
    const free = [...connections]
    const open = new Set<Promise<unknown>>()
    let sent = 0
    while (performance.now() < endMs) {
      const due = Math.floor(((performance.now() - startedMs) / 1000) * perSecond)
      while (sent < due) {
        const connection = queue.length === 0 ? undefined : free.pop()
        const request = connection === undefined ? undefined : queue.shift()
        if (connection === undefined || request === undefined) break
        const posted = post(connection, request, queue).then(() => free.push(connection))
        open.add(posted)
        void posted.finally(() => open.delete(posted))
        sent += 1
      }
      await sleep(sendEveryMs)
    }
    await Promise.all(open)
  }

  async function post({ send }: Connection, request: Buffer, queue: Buffer[]): Promise<void> {
    const sentMs = performance.now()
    const status = await send(request)
    const answeredMs = performance.now()
    latenciesMs[status === 201 ? 'accepted' : 'refused'].push(answeredMs - sentMs)
    if (status === 201) lastAcceptedMs = answeredMs
    else queue.push(request)
  }
}

/** A keep-alive connection without an HTTP client, which would take more CPU time than the service can spare. */
async function openConnection(url: URL) {
  const socket = connect(Number(url.port), url.hostname)
  socket.setNoDelay(true)
  await once(socket, 'connect')
  let received = Buffer.alloc(0)
  let settle = { resolve: (_status: number): void => {}, reject: (_error: Error): void => {} }
  socket.on('error', (error) => settle.reject(error))
  socket.on('close', () => settle.reject(new Error('the service closed a connection')))
  socket.on('data', (chunk) => {
    received = Buffer.concat([received, chunk])
    const bodyAt = received.indexOf('\r\n\r\n') + 4
    if (bodyAt < 4) return
    const head = received.subarray(0, bodyAt).toString('latin1')
    const end = bodyAt + Number(/^content-length: (\d+)/im.exec(head)?.[1])
    if (received.length < end) return
    const text = received.toString()
    received = received.subarray(end)
    const status = Number(head.slice(9, 12))
    if (status === 201 || status === 503) settle.resolve(status)
    else settle.reject(new Error(`the service answered ${text}`))
  })
  return {
    send: (request: Buffer): Promise<number> =>
      new Promise((resolve, reject) => {
        settle = { resolve, reject }
        socket.write(request)
      }),
    close: () => socket.destroy(),
  }
}
