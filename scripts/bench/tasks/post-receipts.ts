import { once } from 'node:events'
import { connect } from 'node:net'

import { percentile } from '../samples.ts'
import { receiptsPath } from '../service.ts'
import { signReceipts, signRegistrations } from '../signed-receipts.ts'
import { pause, timed } from '../task.ts'

export interface ReceiptLoad {
  /** The connections take turns. */
  readonly origins: readonly string[]
  readonly seed: string
  /** Number of receipts that are posted before the measurement. */
  readonly warm: number
  /** Number of receipts in the measurement, which ends after the last receipt. */
  readonly signed: number
  readonly connections: number
  /** New workers instead of receipts, each from a network of its own. */
  readonly registrations?: boolean
}

/** Signs receipts, pauses, posts the warm-up, pauses, and posts the others. */
export async function run(load: ReceiptLoad) {
  const { warm, signed, origins, registrations = false } = load
  const sign = registrations ? signRegistrations : signReceipts
  const path = registrations ? '/api/v1/workers/register' : receiptsPath
  const bodies = await sign(load.seed, warm + signed)
  const requests = bodies.map((raw, at) =>
    Buffer.from(
      `POST ${path} HTTP/1.1\r\nHost: ledger\r\nContent-Type: application/json\r\n` +
        `X-Forwarded-For: 10.${[at >> 16, at >> 8, at].map((byte) => byte & 255).join('.')}\r\n` +
        `Content-Length: ${Buffer.byteLength(raw)}\r\n\r\n${raw}`,
    ),
  )
  const connections = await Promise.all(
    Array.from({ length: load.connections }, (_, at) =>
      openConnection(new URL(origins[at % origins.length] ?? '')),
    ),
  )
  await pause()

  let startedMs = performance.now()
  let lastAcceptedMs = startedMs
  let latenciesMs: number[] = []
  await postInTurn(requests.splice(0, warm))
  latenciesMs = []
  await pause()

  startedMs = performance.now()
  const { cpuMs } = await timed(() => postInTurn(requests))
  const count = latenciesMs.length
  for (const { close } of connections) close()
  return {
    accepted: count,
    perSecond: (count / (lastAcceptedMs - startedMs)) * 1000,
    p50Ms: percentile(latenciesMs, 0.5),
    p99Ms: percentile(latenciesMs, 0.99),
    loadCpuUs: (cpuMs * 1000) / count,
  }

  async function postInTurn(queue: Buffer[]): Promise<void> {
    await Promise.all(
      connections.map(async (connection) => {
        for (let request = queue.shift(); request !== undefined; request = queue.shift()) {
          const sentMs = performance.now()
          await connection.send(request)
          lastAcceptedMs = performance.now()
          latenciesMs.push(lastAcceptedMs - sentMs)
        }
      }),
    )
  }
}

/** A keep-alive connection without an HTTP client, which would take more CPU time than the service can spare. */
async function openConnection(url: URL) {
  const socket = connect(Number(url.port), url.hostname)
  socket.setNoDelay(true)
  await once(socket, 'connect')
  let received = Buffer.alloc(0)
  let settle = { resolve: (): void => {}, reject: (_error: Error): void => {} }
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
    if (head.startsWith('HTTP/1.1 201')) settle.resolve()
    else settle.reject(new Error(`the service answered ${text}`))
  })
  return {
    send: (request: Buffer): Promise<void> =>
      new Promise((resolve, reject) => {
        settle = { resolve, reject }
        socket.write(request)
      }),
    close: () => socket.destroy(),
  }
}
