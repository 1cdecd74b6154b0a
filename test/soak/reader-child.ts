/** `<url>`: reads a document and a list in turn every 20 ms until SIGTERM; prints statuses and latencies. */
import { Agent, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const [url = ''] = process.argv.slice(2)
const EVERY_MS = 10
const paths = { document: '/api/v1/rails', list: '/api/v1/receipts?rail=x402&limit=5' } as const

const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const over = new AbortController()
process.once('SIGTERM', () => over.abort())

const statuses = new Set<number>()
const tookMs: { document: number[]; list: number[] } = { document: [], list: [] }
let count = 0
while (!over.signal.aborted) {
  for (const kind of ['document', 'list'] as const) {
    const startMs = performance.now()
    statuses.add(await read(url + paths[kind]))
    tookMs[kind].push(performance.now() - startMs)
    if (count === 2) process.stdout.write('reading\n')
    await sleep(EVERY_MS)
  }
}
process.stdout.write(`read: ${JSON.stringify({ statuses: [...statuses], tookMs })}\n`)
process.exit(0)

function read(from: string): Promise<number> {
  count += 1
  const headers = { 'X-Forwarded-For': `198.18.${(count >> 8) & 255}.${count & 255}` }
  return new Promise((resolve, reject) => {
    get(from, { agent, headers }, (answer) => {
      answer.resume()
      answer.once('end', () => resolve(answer.statusCode ?? 0))
    }).once('error', reject)
  })
}
