/** `<url>`: reads a document every 10 ms over one connection until the suite ends it, then reports the latencies. */
import { Agent, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

import { percentile } from '../rows.ts'
import { report, textArgument, waitForGo } from '../task.ts'

const url = textArgument(0)
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
await read()
report({})
await waitForGo()

const over = new AbortController()
process.once('message', () => over.abort())
const latenciesMs: number[] = []
while (!over.signal.aborted) {
  const sentMs = performance.now()
  await read()
  latenciesMs.push(performance.now() - sentMs)
  await sleep(10)
}
report({ readP50Ms: percentile(latenciesMs, 0.5), readP99Ms: percentile(latenciesMs, 0.99) })
agent.destroy()

function read(): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      response.resume()
      response.once('end', () => {
        if (response.statusCode === 200) resolve()
        else reject(new Error(`a read was answered with ${response.statusCode}`))
      })
    }).once('error', reject)
  })
}
