/**
 * `<origin> <seed> <warm> <signed> <per second> <duration ms> <connections>`: signs receipts, posts `warm` of them, then the
 * others for that time or until none is left. At 0 per second each connection posts its next receipt when the last one is
 * answered; otherwise that many a second are sent as far as there are free connections, and refused ones are sent again.
 */
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

import { percentile } from '../rows.ts'
import { receiptsPath } from '../service.ts'
import { signReceipts } from '../signed-receipts.ts'
import { numberArgument, report, textArgument, timed, waitForGo } from '../task.ts'

type Connection = Awaited<ReturnType<typeof openConnection>>

const url = new URL(textArgument(0))
const [warm, signed] = [numberArgument(2), numberArgument(3)]
const [perSecond, durationMs, openCount] = [numberArgument(4), numberArgument(5), numberArgument(6)]
const sendEveryMs = 2

const receipts = await signReceipts(textArgument(1), warm + signed + 1)
const requests = receipts.map(({ raw }) =>
  Buffer.from(
    `POST ${receiptsPath} HTTP/1.1\r\nHost: ${url.host}\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(raw)}\r\n\r\n${raw}`,
  ),
)
const spare = requests.pop() ?? Buffer.alloc(0)
const connections = await Promise.all(Array.from({ length: openCount }, openConnection))
report({})
await waitForGo()

let startedMs = performance.now()
let lastAcceptedMs = startedMs
let endMs = Infinity
const latenciesMs: { accepted: number[]; refused: number[] } = { accepted: [], refused: [] }
await postInTurn(requests.splice(0, warm))
latenciesMs.accepted = []
report({})
await waitForGo()

startedMs = performance.now()
endMs = startedMs + durationMs
const { cpuMs } = await timed(async () => {
  await (perSecond === 0 ? postInTurn(requests) : postOnTime(requests))
})
const { accepted, refused } = latenciesMs
const count = accepted.length
const floodEndMs = performance.now()
while ((await connections[0]?.send(spare)) !== 201);
report({
  accepted: count + 1,
  refused: refused.length,
  perSecond: (count / (lastAcceptedMs - startedMs)) * 1000,
  offeredPerSecond: ((count + refused.length) / durationMs) * 1000,
  p50Ms: percentile(accepted, 0.5),
  p95Ms: percentile(accepted, 0.95),
  p99Ms: percentile(accepted, 0.99),
  maxMs: percentile(accepted, 1),
  refusedP99Ms: percentile(refused, 0.99),
  loadCpuUs: (cpuMs * 1000) / count,
  recoveryMs: performance.now() - floodEndMs,
})
for (const { close } of connections) close()

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

/** A keep-alive connection without an HTTP client, which would take more CPU time than the service can spare. */
async function openConnection() {
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
