/** Clients in a separate process. Each order is answered with the answers that they got until `stop` or the end. */
import { sendQueue, sendPipelined, openConnections } from './clients.ts'
import type { Timed } from './clients.ts'
import type { Address } from './raw-http.ts'

export interface Order {
  readonly address: Address
  readonly requests: readonly string[]
  readonly durationMs: number
  /** Null: two connections send without waiting for answers. */
  readonly clients: number | null
  readonly gapMs?: number
}

let stop = new AbortController()

process.on('message', (order: Order | 'stop') => {
  if (order === 'stop') return stop.abort()
  const own = new AbortController()
  stop = own
  // Node 20 collects the timeout signal of an `AbortSignal.any`.
  setTimeout(() => own.abort(), order.durationMs).unref()
  void follow(order, own.signal).then((answers) => process.send?.(answers))
})
process.on('disconnect', () => process.exit(0))

async function follow(order: Order, over: AbortSignal): Promise<readonly Timed[]> {
  const { address, requests, clients, gapMs = 0 } = order
  if (clients === null) return await sendPipelined(address, requests[0] ?? '', over)
  const connections = await openConnections(address, clients)
  const answers = await sendQueue(connections, requests, { over, gapMs })
  for (const { close } of connections) close()
  return answers
}
