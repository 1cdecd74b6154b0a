/** Behind the shipped configurations, limits count the address that the edge sees, not the headers of a client. */
import { request } from 'node:http'

import { expect, onTestFinished, test } from 'vitest'

import { startCaddy, startNginx } from '../support/edge.ts'
import { publicDir, sampleDocuments, startService } from '../support/http-service.ts'
import { send } from '../support/raw-http.ts'
import { isRunnable } from '../support/runnable.ts'

test.each([
  ['nginx', startNginx],
  ['caddy', startCaddy],
] as const)(
  'clients behind %s have their own limits and cannot use the addresses of others',
  async (program, start) => {
    expect(isRunnable(program)).toBe(true)
    const published = await publicDir()
    await published.publish(sampleDocuments)
    const service = await startService(published.dir, {
      limits: 'on',
      trustedProxies: ['127.0.0.1'],
    })
    const edge = await start({ servicePort: service.address.port, publicDir: published.dir })
    const { host, port } = edge.address
    const status = (from: string, headers: Record<string, string>) =>
      new Promise<number>((resolve, reject) => {
        const sent = { host, port, path: '/api/v1/receipts?limit=1', localAddress: from, headers }
        const asked = request(sent, (answer) => {
          answer.resume()
          answer.once('end', () => resolve(answer.statusCode ?? 0))
        })
        asked.once('error', reject)
        asked.end()
      })
    const statuses: number[] = []
    for (let at = 0; at < 125; at += 1) {
      const others = `203.0.113.${at}`
      const headers = { 'X-Forwarded-For': others, 'X-Real-IP': others, Forwarded: `for=${others}` }
      statuses.push(await status('127.0.0.2', headers))
    }
    expect(statuses.filter((found) => found === 200)).toHaveLength(120)
    expect(statuses.slice(120)).toEqual([429, 429, 429, 429, 429])
    const borrowed = { 'X-Forwarded-For': '127.0.0.3, 127.0.0.1' }
    expect(await status('127.0.0.2', borrowed)).toBe(429)
    expect(await status('127.0.0.3', { 'X-Forwarded-For': '127.0.0.2' })).toBe(200)
    await edge.stop()
    await service.stop()
    await published.remove()
  },
)

test.skipIf(!isRunnable('nginx'))(
  'nginx limits reads of the log and of evidence, even cached ones, and no documents',
  async () => {
    const published = await publicDir()
    await published.publish(sampleDocuments)
    const service = await startService(published.dir)
    const edge = await startNginx({
      servicePort: service.address.port,
      publicDir: published.dir,
      changes: [
        ['rate=100r/s', 'rate=1r/m'],
        ['burst=500', 'burst=5'],
      ],
    })
    onTestFinished(async () => {
      await edge.stop()
      await service.stop()
      await published.remove()
    })
    const statuses: number[] = []
    const paths = ['/log/vkey', '/snapshot.json.tlog-proof', `/evidence/${'0'.repeat(64)}.json`]
    for (const path of [...paths, ...paths, ...paths]) {
      statuses.push((await send(edge.address, `GET ${path}`)).status)
      expect((await send(edge.address, 'GET /api/v1/rails')).status).toBe(200)
    }
    // One of six was the request that found the server ready.
    expect(statuses).toEqual([200, 404, 404, 200, 404, 429, 429, 429, 429])
  },
)
