/** The service behind an edge, with additional routes whose answers an edge could cache by mistake. */
import { afterAll, beforeAll } from 'vitest'
import { z } from 'zod'

import { pathOf } from '../../src/contract/routes.ts'
import type { EdgeOptions } from '../support/edge.ts'
import { filledByHook } from '../support/filled-by-hook.ts'
import { sampleDocuments, jsonDocument, publicDir, startService } from '../support/http-service.ts'
import type { Service } from '../support/http-service.ts'
import { send } from '../support/raw-http.ts'
import type { RawAnswer } from '../support/raw-http.ts'
import type { ServerProcess } from '../support/server-process.ts'
import { documentsOf } from '../support/site.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { smallWorld } from '../support/world.ts'

allowSlowTests('starts servers of the deploy notes')

export const shortLived = '/short-lived.json'
/** A document that no test reads before the service stops. */
export const neverRead = '/api/v1/rails/never-read'
/** Returns the received request headers in a cacheable answer. */
export const echo = (name: string): string => `/echo/${name}`
export const echoed = z.object({
  method: z.string(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
})
/** Answers 200 to callers with any credentials and 402 to others. */
export const premium = '/api/v1/arbitrage/premium'
export const cacheableError = '/cacheable-error'

/** The documents from which the service computes other answers. */
const valid = new Set(
  (['listRails', 'listHonestyFlags', 'listOpportunities', 'getStatsLive'] as const).map((name) =>
    pathOf(name),
  ),
)

/** Starts the service and an edge before the first test of the file. */
export function useEdge(start: (options: EdgeOptions) => Promise<ServerProcess>) {
  const origin = filledByHook<{ service: Service; edge: ServerProcess }>()
  beforeAll(async () => {
    const published = await publicDir()
    await published.publish([
      ...sampleDocuments.filter(({ path }) => !valid.has(path)),
      ...documentsOf(smallWorld()).filter(({ path }) => valid.has(path)),
      jsonDocument(shortLived, { fresh: 'for a second' }, 1),
      jsonDocument(neverRead, { rail: 'never-read', filler: 'figures '.repeat(200) }),
    ])
    origin.service = await startOrigin(published.dir)
    const servicePort = origin.service.address.port
    origin.edge = await start({ servicePort, publicDir: published.dir })
    return published.remove
  })
  afterAll(async () => {
    await origin.edge.stop()
    await origin.service.stop()
  })
  return {
    origin,
    get: (path: string, ...headers: string[]): Promise<RawAnswer> =>
      send(origin.edge.address, `GET ${path}`, headers),
    direct: (path: string, ...headers: string[]): Promise<RawAnswer> =>
      send(origin.service.address, `GET ${path}`, headers),
    requestsFor: (path: string): number =>
      origin.service.lines().filter((line) => line['path'] === path).length,
  }
}

async function startOrigin(dir: string): Promise<Service> {
  return await startService(dir, {
    extend: ({ hono }) => {
      hono.all(echo(':name'), async (c) => {
        const body = { method: c.req.method, headers: c.req.header(), body: await c.req.text() }
        return c.json(body, 200, { 'Cache-Control': 'public, max-age=60' })
      })
      hono.get(premium, (c) => {
        const headers = { 'Cache-Control': 'private, no-store' }
        const names = ['authorization', 'x-partner-wallet', 'x-payment', 'payment-signature']
        const credential = names.find((name) => c.req.header(name) !== undefined)
        return c.json({ paid: credential ?? null }, credential === undefined ? 402 : 200, headers)
      })
      hono.get(cacheableError, (c) => c.json({}, 404, { 'Cache-Control': 'public, max-age=60' }))
    },
  })
}
