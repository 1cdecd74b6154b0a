/** Behind the shipped nginx, limits count the address that nginx sees, not the headers of a client. */
import { request } from 'node:http'

import { expect, test } from 'vitest'

import { startNginx } from '../support/edge.ts'
import { publicDir, sampleDocuments, startService } from '../support/http-service.ts'
import { isRunnable } from '../support/runnable.ts'

test.skipIf(!isRunnable('nginx'))(
  'clients behind nginx have their own limits and cannot use the addresses of others',
  async () => {
    const published = await publicDir()
    await published.publish(sampleDocuments)
    const service = await startService(published.dir, {
      limits: 'on',
      trustedProxies: ['127.0.0.1'],
    })
    const edge = await startNginx({
      servicePort: service.address.port,
      publicDir: published.dir,
    })
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
