import { request } from 'node:http'
import type { IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'

import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'

import { documentsOf } from '../builder/documents/index.ts'
import { diffDocument, factsOf, nextFacts } from '../builder/publish/last-facts.ts'
import type { Route } from '../src/contract/route.ts'
import { maxAgeOf, routes } from '../src/contract/routes.ts'
import { receiptsSince } from '../src/db/receipts/view.ts'
import { createStatsSince } from '../src/http/live.ts'
import { createHealth } from '../src/runtime/health.ts'
import { openApiValidator } from './support/openapi-validator.ts'
import type { OpenApiValidator } from './support/openapi-validator.ts'
import { useService } from './support/use-service.ts'
import type { UsedService } from './support/use-service.ts'
import { smallWorld } from './support/world.ts'

const all: readonly Route[] = routes
const reads = all.filter(({ method }) => method === 'GET')
const paths = [...new Set(all.map(({ path }) => path))]

const described = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.looseObject({ operationId: z.string(), responses: z.record(z.string(), z.unknown()) }),
    ),
  ),
})
const errorBody = z.object({ error: z.string(), code: z.string(), docs: z.url() })

const facts = [...documentsOf(smallWorld())]
const service: UsedService = useService({
  documents: [...facts, diffDocument(nextFacts(null, factsOf(facts)), maxAgeOf('getLatestDiff'))],
  per: 'file',
  options: () => ({
    health: async () =>
      await createHealth({
        database: service.actions.database,
        store: service.store,
        clock: service.clock,
        startedMonotonicMs: 0,
        jobs: ['poll', 'build'],
        settlement: 'off',
        problems: () => [],
      })(),
    statsSince: async (sinceMs) =>
      await createStatsSince(
        service.store,
        receiptsSince(service.actions.database.reader, 'https://ledger.test'),
      )(sinceMs),
  }),
})
let api: z.infer<typeof described>
let validator: OpenApiValidator
let documents: readonly string[]

beforeAll(async () => {
  const { manifest } = service.store.state()
  documents = [...(manifest?.documents ?? []).map(({ path }) => path), '/snapshot.json']
  const openapi: unknown = JSON.parse((await ask('GET', '/openapi.json')).body)
  api = described.parse(openapi)
  validator = openApiValidator(openapi)
})

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

async function ask(method: string, path: string, body?: string): Promise<Answer> {
  const { port } = service.address
  const headers = body === undefined ? {} : { 'content-type': 'application/json' }
  return await new Promise((resolve, reject) => {
    const asking = request({ host: '127.0.0.1', port, method, path, headers }, (response) => {
      text(response).then(
        (received) =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: received }),
        reject,
      )
    })
    asking.on('error', reject)
    asking.end(body)
  })
}

function parsed({ headers, body }: Answer): unknown {
  return headers['content-type'] === 'application/json' ? JSON.parse(body) : body
}

/** A published path of the route; without one, the path with the examples of its parameters. */
function pathOf(route: Route): string {
  const pattern = new RegExp(
    `^${route.path.replaceAll(/[.*+?^$()|[\]\\]/g, String.raw`\$&`).replaceAll(/\{\w+\}/g, '[^/]+?')}$`,
  )
  const own = documents.find(
    (path) => pattern.test(path) && (path === route.path || !paths.includes(path)),
  )
  return own ?? withParams(route, (name) => route.params?.[name]?.example ?? 'nothing')
}

function withParams({ path }: Route, valueOf: (name: string) => string): string {
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => valueOf(name))
}

/** Headers that differ between two equal requests. */
const ownOfEach = ['date', 'x-request-id', 'connection', 'keep-alive', 'transfer-encoding']
function comparable(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ownOfEach.includes(name)))
}

describe.each(all.map((route) => [`${route.method} ${route.path}`, route] as const))(
  '%s',
  (_name, route) => {
    it('is described in /openapi.json under its id with every status of the registry', () => {
      const operation = api.paths[route.path]?.[route.method.toLowerCase()]
      expect(operation?.operationId).toBe(route.id)
      expect(Object.keys(operation?.responses ?? {})).toEqual(
        expect.arrayContaining(Object.keys(route.answers)),
      )
    })
  },
)

describe.each(reads.map((route) => [route.path, route] as const))('GET %s', (_name, route) => {
  it('returns what /openapi.json describes', async () => {
    const path = pathOf(route)
    const answer = await ask('GET', path)
    const { status, headers } = answer
    const type = headers['content-type'] ?? ''
    expect(Object.keys(api.paths[route.path]?.['get']?.responses ?? {})).toContain(String(status))
    expect(validator.problems(path, status, type, parsed(answer))).toEqual([])
    if (route.serving.kind === 'document') {
      expect(status).toBe(200)
      expect(headers['cache-control']).toContain(`max-age=${route.serving.maxAgeSeconds}`)
      expect(headers['x-signature']).toMatch(/^ed25519:/)
    }
  })

  it('answers HEAD like GET, without the body', async () => {
    const path = pathOf(route)
    const [get, head] = [await ask('GET', path), await ask('HEAD', path)]
    expect(head.status).toBe(get.status)
    expect(comparable(head.headers)).toEqual(comparable(get.headers))
    expect(head.body).toBe('')
  })

  it('returns the error body for an unknown name', async () => {
    if (route.params === undefined) return
    const path = withParams(route, () => 'no-such-thing')
    const answer = await ask('GET', path)
    expect(Object.keys(api.paths[route.path]?.['get']?.responses ?? {})).toContain(
      String(answer.status),
    )
    expect(answer.status).toBeGreaterThanOrEqual(400)
    errorBody.parse(parsed(answer))
    expect(answer.headers['cache-control']).toContain('no-store')
  })
})

describe.each(
  all
    .filter(({ method }) => method !== 'GET')
    .map((route) => [route.method, route.path, route] as const),
)('%s %s', (method, _path, route) => {
  it('refuses an empty object with a documented status', async () => {
    const answer = await ask(method, pathOf(route), '{}')
    const { responses = {} } = api.paths[route.path]?.[method.toLowerCase()] ?? {}
    expect(Object.keys(responses)).toContain(String(answer.status))
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.status).toBeLessThan(500)
    errorBody.parse(parsed(answer))
  })
})

describe.each(paths)('%s', (path) => {
  const own = all.filter((route) => route.path === path)
  const methods = new Set<string>(own.map(({ method }) => method))
  const expected = [...methods, ...(methods.has('GET') ? ['HEAD'] : []), 'OPTIONS'].toSorted()

  it('refuses every other method with 405 and lists its own', async () => {
    const [route] = own
    if (route === undefined) throw new Error('no route')
    for (const method of ['PUT', 'DELETE', 'POST', 'PATCH', 'PROPFIND', 'TRACE']) {
      if (methods.has(method)) continue
      const answer = await ask(method, pathOf(route))
      expect(answer.status).toBe(405)
      const allow = String(answer.headers.allow).split(', ')
      expect(allow.toSorted()).toEqual(expected)
      expect(errorBody.parse(parsed(answer)).code).toBe('method_not_allowed')
    }
  })

  it('answers OPTIONS with the same methods', async () => {
    const [route] = own
    if (route === undefined) throw new Error('no route')
    const answer = await ask('OPTIONS', pathOf(route))
    expect(answer.status).toBe(204)
    expect(String(answer.headers.allow).split(', ').toSorted()).toEqual(expected)
  })
})

it('every published API path belongs to a route', () => {
  const unknown = documents.filter(
    (path) => path.startsWith('/api/') && validator.templateOf(path) === null,
  )
  expect(unknown).toEqual([])
})
