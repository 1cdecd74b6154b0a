/** A published site behind the front door of the service, on a free port. */
import { beforeAll } from 'vitest'

import { readAssets } from '../../builder/publish/assets.ts'
import type { PublishOutcome } from '../../builder/publish/publish.ts'
import { readVendored } from '../../builder/site/vendored.ts'
import type { World } from '../../builder/world/world.ts'
import { createDocumentStore } from '../../src/http/document-store.ts'
import { createFrontDoor } from '../../src/http/front-door.ts'
import { createRouteTable } from '../../src/http/route-table.ts'
import { unlimited } from '../../src/limits/admission.ts'
import { createConcurrencyLimits } from '../../src/limits/concurrency-limits.ts'
import { workspace } from '../builder/publish/set.ts'
import { filledByHook } from '../support/filled-by-hook.ts'
import { startLocalServer } from '../support/local-server.ts'
import { documentsOf, requestedPagesOf, siteOf } from '../support/site.ts'

interface SiteServer {
  readonly url: string
  readonly paths: readonly string[]
  readonly published: PublishOutcome
  readonly stop: () => Promise<void>
}

const assets = new URL('../../builder/site/static', import.meta.url).pathname
const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const health = { status: 'ok', database: 'ok', snapshot_age_s: 60, problems: [] }

/**
 * Publishes the world with a new key and serves it. The address of the site is that of the server, so that
 * tests can follow its links.
 */
export async function startSite(
  makeWorld: (siteUrl: string) => World,
  answers: (path: string) => string | Uint8Array | undefined = () => undefined,
): Promise<SiteServer> {
  const space = await workspace()
  const clock = { monotonic: () => performance.now(), sleep: () => Promise.resolve() }
  const store = createDocumentStore({ source: space.source, clock, log: quiet })
  const listener = createFrontDoor({
    store,
    table: createRouteTable([]),
    rateLimits: unlimited,
    concurrency: createConcurrencyLimits(),
    clientAddress: (peer) => peer,
    clock,
    log: { ...quiet, isEnabled: () => false, flush() {} },
    requestLog: null,
    requestId: () => 'test',
    docsUrl: '',
    renderError: (_req, answer) => answer,
    countView: () => undefined,
    dispatch: ({ path, outgoing }) => {
      const answer = answers(path)
      if (answer !== undefined) {
        outgoing.end(answer)
        return
      }
      const isHealth = path === '/api/v1/health'
      outgoing.writeHead(isHealth ? 200 : 404, { 'Content-Type': 'application/json' })
      outgoing.end(JSON.stringify(isHealth ? health : { code: 'not_found' }))
    },
  })
  const { url, stop } = await startLocalServer(listener)
  const keys = space.keys.publicKeys.keys.map((key) => ({ ...key }))
  const world: World = { ...makeWorld(url), signingKeys: { keys } }
  const documents = [
    ...documentsOf(world),
    ...siteOf(world),
    ...requestedPagesOf(world),
    ...(await readVendored()),
    ...(await readAssets(assets)),
  ]
  const published = await space.publish(documents)
  await store.reload()
  return {
    url,
    paths: published.manifest.documents.map(({ path }) => path),
    published,
    stop: async () => {
      await stop()
      await space.remove()
    },
  }
}

export function useSite(...parts: Parameters<typeof startSite>): Omit<SiteServer, 'stop'> {
  const site = filledByHook<SiteServer>()
  beforeAll(async () => {
    Object.assign(site, await startSite(...parts))
    return site.stop
  })
  return site
}
