/**
 * `<origin> <seed> <warm> <count> <connections>`: signs all receipts, then posts them over kept-alive connections,
 * each sending its next when the answer to the last is there. Prints what the ones after the first `warm` took, and
 * the CPU time of this process for each. Waits for a line on standard input before it posts.
 */
import { once } from 'node:events'
import { connect } from 'node:net'

import { createReceiptMaker } from './receipts.ts'

const [origin = '', seed = '', ...numbers] = process.argv.slice(2)
const [warm = 0, count = 0, connections = 1] = numbers.map(Number)
const { hostname, port, host } = new URL(origin)

const CREATED = Buffer.from('HTTP/1.1 201 ')
const maker = await createReceiptMaker(seed)
const nowMs = Date.now()
const requests = Array.from({ length: warm + count }, (_, at) => {
  const { raw } = maker.make(at, nowMs)
  const head = `POST /api/v1/receipts HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n`
  return Buffer.from(`${head}Content-Length: ${Buffer.byteLength(raw)}\r\n\r\n${raw}`)
})
process.stdout.write('signed\n')
await once(process.stdin, 'data')

await post(requests.slice(0, warm))
process.stdout.write('warm\n')
await once(process.stdin, 'data')
const cpu = process.cpuUsage()
const { latenciesMs, elapsedMs } = await post(requests.slice(warm))
const { user, system } = process.cpuUsage(cpu)
latenciesMs.sort((left, right) => left - right)
const at = (share: number): number => latenciesMs[Math.floor(latenciesMs.length * share)] ?? 0
const result = {
  perSecond: (count / elapsedMs) * 1000,
  p50Ms: at(0.5),
  p95Ms: at(0.95),
  p99Ms: at(0.99),
  maxMs: latenciesMs.at(-1) ?? 0,
  cpuUs: (user + system) / count,
}
process.stdout.write(`${JSON.stringify(result)}\n`)
process.exit(0)

async function post(
  sent: readonly Buffer[],
): Promise<{ readonly latenciesMs: number[]; readonly elapsedMs: number }> {
  const latenciesMs: number[] = []
  const startedMs = performance.now()
  let next = 0
  const take = (): Buffer | undefined => {
    next += 1
    return sent[next - 1]
  }
  await Promise.all(Array.from({ length: connections }, () => client(take, latenciesMs)))
  return { latenciesMs, elapsedMs: performance.now() - startedMs }
}

async function client(take: () => Buffer | undefined, latenciesMs: number[]): Promise<void> {
  const socket = connect(Number(port), hostname)
  socket.setNoDelay(true)
  await once(socket, 'connect')
  await new Promise<void>((resolve, reject) => {
    let sentMs = 0
    let received = Buffer.alloc(0)
    const sendNext = (): void => {
      const request = take()
      if (request === undefined) {
        resolve()
        return
      }
      sentMs = performance.now()
      socket.write(request)
    }
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('the service closed a connection')))
    socket.on('data', (chunk) => {
      received = received.length === 0 ? chunk : Buffer.concat([received, chunk])
      const end = answerEnd(received)
      if (end === null || received.length < end) return
      if (!received.subarray(0, 13).equals(CREATED)) {
        reject(new Error(`refused: ${received.toString('utf8')}`))
        return
      }
      latenciesMs.push(performance.now() - sentMs)
      received = Buffer.alloc(0)
      sendNext()
    })
    sendNext()
  })
  socket.removeAllListeners('close')
  socket.destroy()
}

/** Where the answer ends; null where its head is not there whole. */
function answerEnd(received: Buffer): number | null {
  const headEnd = received.indexOf('\r\n\r\n')
  if (headEnd === -1) return null
  const head = received.subarray(0, headEnd).toString('latin1')
  return headEnd + 4 + Number(/^content-length: (\d+)/im.exec(head)?.[1])
}
