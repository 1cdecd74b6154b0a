/** No edge gives the answer to one query or caller to another one. The registry names all computed answers. */
import { createServer } from 'node:http'

import { expect, onTestFinished, test } from 'vitest'

import { apiPrefix } from '../../src/contract/route.ts'
import { routes } from '../../src/contract/routes.ts'
import { healthEndpoints } from '../../src/http/health.ts'
import { serviceEndpoints } from '../../src/http/routes.ts'
import { createConcurrencyLimits } from '../../src/limits/concurrency-limits.ts'
import { testActions } from '../support/actions.ts'
import { startCaddy, startNginx } from '../support/edge.ts'
import type { EdgeOptions } from '../support/edge.ts'
import { handClock, jsonDocument, publicDir } from '../support/http-service.ts'
import { listen } from '../support/listen.ts'
import { quietLog } from '../support/quiet-log.ts'
import { send } from '../support/raw-http.ts'
import { isRunnable } from '../support/runnable.ts'

const withParameters = (path: string): string => path.replaceAll(/\{\w+\}/g, 'x402')

const credentials = [
  'Authorization',
  'X-Partner-Wallet',
  'X-Partner-Signature',
  'X-PAYMENT',
  'PAYMENT-SIGNATURE',
]

async function computedReads() {
  const actions = await testActions({ clock: handClock(), log: quietLog })
  onTestFinished(actions.close)
  const store = {
    get: () => undefined,
    getFile: () => Promise.resolve(null),
    state: () => ({ manifest: null, damaged: new Map<string, string>(), problem: null }),
  }
  const deps = { ...actions, outboundLimits: createConcurrencyLimits() }
  const notCalled = () => Promise.reject(new Error('not called'))
  return [
    ...serviceEndpoints(deps, store),
    ...healthEndpoints({ health: notCalled, obstacles: notCalled }),
  ]
    .filter(({ route }) => route.method === 'GET')
    .map(({ route: { path, query } }) => ({
      path,
      names: [...Object.keys(query ?? {}), ...(path.startsWith(apiPrefix) ? ['unknown'] : [])],
    }))
}

const unlimited = [['burst=500', 'burst=5000']] as const

test.each([
  ['nginx', (options: EdgeOptions) => startNginx({ ...options, changes: unlimited })],
  ['caddy', startCaddy],
] as const)('%s gives every caller the answer to their own query', async (program, start) => {
  expect(isRunnable(program)).toBe(true)
  const reads = await computedReads()
  expect(reads.map(({ path }) => path)).toContain('/view/receipts')

  // Answers with the requested URL, and allows every cache to store the answer.
  const service = createServer(({ url, headers }, answer) => {
    const given = credentials.find((name) => headers[name.toLowerCase()] !== undefined)
    answer.setHeader('Cache-Control', 'public, max-age=600')
    answer.end(`${url} ${given ?? 'anonymous'}`)
  })
  const servicePort = await listen(service)
  const published = await publicDir()
  const documents = routes.filter(
    ({ serving, query }) => serving.kind === 'document' && query !== undefined,
  )
  await published.publish(documents.map(({ path }) => jsonDocument(withParameters(path), {})))
  const edge = await start({ servicePort, publicDir: published.dir })
  onTestFinished(async () => {
    await edge.stop()
    service.close()
    await published.remove()
  })

  const wrong: unknown[] = []
  for (const { path, names } of reads) {
    const queries = names.flatMap((name) => [`?${name}=a`, `?${name}=b`])
    for (const target of queries.length > 0 ? queries : ['']) {
      for (const caller of ['anonymous', ...credentials, 'anonymous']) {
        const asked = withParameters(path) + target
        const headers = caller === 'anonymous' ? [] : [`${caller}: one`]
        const body = (await send(edge.address, `GET ${asked}`, headers)).body.toString()
        if (body !== `${asked} ${caller}`) wrong.push({ asked, caller, body })
      }
    }
  }
  expect(wrong).toEqual([])
})
