/** Reads of published documents, against node:http that repeats the same answers. */
import { execFileSync } from 'node:child_process'

import { requestText } from '../../../test/support/keep-alive.ts'
import type { ServerProcess } from '../../../test/support/server-process.ts'
import type { Bench, Suite } from '../bench.ts'
import { load, programOf, settingsIn, startPeer, startService } from '../processes.ts'

const path = '/api/v1/rails'
const reads = [
  { what: 'a rail', path: '/api/v1/rails/x402' },
  { what: 'all rails', path },
  { what: 'all rails as brotli', path, headers: { 'Accept-Encoding': 'br' } },
  { what: 'the home page', path: '/' },
]

export const documents: Suite = {
  about: 'reads of documents, and 304, against bare node:http',
  prepare: async ({ dir, quick, running }) => {
    execFileSync(process.execPath, [programOf('builder/main.js'), '--once'], {
      env: { ...process.env, ...settingsIn(dir) },
      stdio: 'inherit',
    })
    const service = await running(startService(dir, { readyPath: path }))
    const whole = await fetch(service.origin + path, { headers: { 'Accept-Encoding': 'identity' } })
    const headers = { 'If-None-Match': whole.headers.get('etag') ?? '' }
    const unchanged = { what: 'all rails, 304', path, headers }
    const [warm, count] = quick ? [5000, 10_000] : [20_000, 60_000]
    const benches: Bench[] = []
    for (const { what, ...request } of [...reads, unchanged]) {
      const args = [service.origin + request.path, JSON.stringify(request.headers ?? {})]
      const peer = await running(startPeer('raw-http', { args }))
      const requests = Array<Buffer>(warm + count).fill(Buffer.from(requestText(request)))
      const measure = (server: ServerProcess) => () => load(server, requests, warm)
      benches.push({
        what,
        ours: measure(service),
        peer: ['node:http', measure(peer)],
        figures: { cpuUs: { unit: 'µs', mostRatio: 1.1 }, perSecond: { unit: '1/s' } },
      })
    }
    return benches
  },
}
