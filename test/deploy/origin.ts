/** The real service behind an edge, with a few routes that the edge must treat with care. */
import { z } from 'zod'

import { sampleDocuments, jsonDocument, publicDir, startService } from '../support/http-service.ts'
import type { PublicDir, Service } from '../support/http-service.ts'

export interface Origin {
  readonly published: PublicDir
  readonly service: Service
  /** How many requests for this path the service has answered. */
  readonly asked: (path: string) => number
  readonly stop: () => Promise<void>
  readonly remove: () => Promise<void>
}

/** Fresh for one second: old as soon as a test wants it to be. */
export const shortLived = '/short-lived.json'
/** Published, and read by no test before the service is stopped. */
export const neverRead = '/api/v1/rails/never-read'
/** Answers the request headers that arrived, and may be stored by anyone. */
export const echo = (name: string): string => `/echo/${name}`
export const echoed = z.object({
  method: z.string(),
  headers: z.record(z.string(), z.string()),
  body: z.string(),
})
/** 200 for callers with any credentials, 402 for the others. */
export const premium = '/api/v1/arbitrage/premium'
/** A 404 with a `Cache-Control` that permits caching. */
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
        const sent = names.find((name) => c.req.header(name) !== undefined)
        return c.json({ paid: sent ?? null }, sent === undefined ? 402 : 200, headers)
      })
      hono.get(cacheableError, (c) => c.json({}, 404, { 'Cache-Control': 'public, max-age=60' }))
    },
  })
  return {
    published,
    service,
    asked: (path) => service.lines().filter((line) => line['path'] === path).length,
    stop: service.stop,
    remove: published.remove,
  }
}
