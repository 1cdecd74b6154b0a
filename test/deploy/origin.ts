/** The service behind an edge, with additional routes whose answers an edge could cache by mistake. */
import { z } from 'zod'

import { sampleDocuments, jsonDocument, publicDir, startService } from '../support/http-service.ts'
import type { PublicDir, Service } from '../support/http-service.ts'

export interface Origin {
  readonly published: PublicDir
  readonly service: Service
  /** How many requests for this path the service has answered. */
  readonly requestsFor: (path: string) => number
  readonly stop: () => Promise<void>
  readonly remove: () => Promise<void>
}

/** A document that is fresh for one second. */
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
/** Answers 404 with a cacheable `Cache-Control`. */
export const cacheableError = '/cacheable-error'

export async function startOrigin(): Promise<Origin> {
  const published = await publicDir()
  await published.publish([
    ...sampleDocuments,
    jsonDocument(shortLived, { fresh: 'for a second' }, 1),
    jsonDocument(neverRead, { rail: 'never-read', filler: 'figures '.repeat(200) }),
  ])
  const service = await startService(published.dir, {
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
  return {
    published,
    service,
    requestsFor: (path) => service.lines().filter((line) => line['path'] === path).length,
    stop: service.stop,
    remove: published.remove,
  }
}
