/**
 * `<url>`: reads a document every 10 ms over one connection until a line comes on standard input, then prints how
 * long that took. A process of its own, away from the flood.
 */
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const [url = ''] = process.argv.slice(2)
const EVERY_MS = 10

const agent = new Agent({ keepAlive: true, maxSockets: 1 })
await read()
process.stdout.write('ready\n')
await once(process.stdin, 'data')

const over = new AbortController()
process.stdin.once('data', () => {
  over.abort()
})
const latenciesMs: number[] = []
while (!over.signal.aborted) {
  const sentMs = performance.now()
  await read()
  latenciesMs.push(performance.now() - sentMs)
  await sleep(EVERY_MS)
}
latenciesMs.sort((left, right) => left - right)
const at = (share: number): number => latenciesMs[Math.floor(latenciesMs.length * share)] ?? 0
const result = { reads: latenciesMs.length, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) }
process.stdout.write(`${JSON.stringify({ ...result, maxMs: latenciesMs.at(-1) ?? 0 })}\n`)
process.exit(0)

async function read(): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    get(url, { agent }, (answer) => {
      answer.resume()
      answer.once('end', () => {
        if (answer.statusCode === 200) resolve()
        else reject(new Error(`a read was answered ${answer.statusCode ?? 0}`))
      })
    }).once('error', reject)
  })
}
