import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'

import { diffDocument, factsOf, nextFacts } from '../builder/archive/last-facts.ts'
import { apiPrefix, hasSignature } from '../src/contract/route.ts'
import type { Route } from '../src/contract/route.ts'
import { maxAgeOf, routes } from '../src/contract/routes.ts'
import { openApiValidator } from './support/openapi-validator.ts'
import type { OpenApiValidator } from './support/openapi-validator.ts'
import { send as sendRaw } from './support/raw-http.ts'
import type { RawAnswer } from './support/raw-http.ts'
import { healthOf } from './support/service-health.ts'
import { documentsOf } from './support/site.ts'
import { useService } from './support/use-service.ts'
import type { UsedService } from './support/use-service.ts'
import { smallWorld } from './support/world.ts'

const all: readonly Route[] = routes
const reads = all.filter(({ method }) => method === 'GET')
const paths = [...new Set(all.map(({ path }) => path))]

const described = z.object({
  tags: z.array(z.object({ name: z.string() })),
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
  options: () => ({ health: () => healthOf(service) }),
})
let api: z.infer<typeof described>
let validator: OpenApiValidator
let documents: readonly string[]

beforeAll(async () => {
  const { manifest } = service.store.state()
  documents = [...(manifest?.documents ?? []).map(({ path }) => path), '/snapshot.json']
  const openapi: unknown = parsed(await send('GET', '/openapi.json'))
  api = described.parse(openapi)
  validator = openApiValidator(openapi)
})

const send = (method: string, path: string, ...headers: readonly string[]) =>
  sendRaw(service.address, `${method} ${path}`, headers)

function parsed({ headers, body }: RawAnswer): unknown {
  const text = body.toString()
  return headers.get('content-type') === 'application/json' ? JSON.parse(text) : text
}

const statusesOf = ({ path, method }: Pick<Route, 'path' | 'method'>) =>
  Object.keys(api.paths[path]?.[method.toLowerCase()]?.responses ?? {})

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
const ownOfEach = ['date', 'x-request-id', 'transfer-encoding', 'signature', 'signature-input']
function comparable({ headers }: RawAnswer): object {
  return Object.fromEntries([...headers].filter(([name]) => !ownOfEach.includes(name)))
}

test.each(all.map((route) => [route.method, route.path, route] as const))(
  '%s %s is described in /openapi.json under its id with every status of the registry',
  (_method, _path, route) => {
    expect(api.paths[route.path]?.[route.method.toLowerCase()]?.operationId).toBe(route.id)
    expect(statusesOf(route)).toEqual(expect.arrayContaining(Object.keys(route.answers)))
  },
)

describe.each(reads.map((route) => [route.path, route] as const))('GET %s', (_name, route) => {
  test(`GET ${route.path} returns what /openapi.json describes`, async () => {
    const path = pathOf(route)
    const answer = await send('GET', path)
    const { status, headers } = answer
    const type = headers.get('content-type') ?? ''
    expect(statusesOf(route)).toContain(String(status))
    expect(validator.problems(path, status, type, parsed(answer))).toEqual([])
    if (route.serving.kind === 'document') {
      expect(status).toBe(200)
      expect(headers.get('cache-control')).toContain(`max-age=${route.serving.maxAgeSeconds}`)
    }
    if (status < 300) expect(headers.has('x-signature')).toBe(hasSignature(route))
  })

  test(`HEAD ${route.path} is answered like GET, without the body`, async () => {
    const path = pathOf(route)
    for (const coding of ['identity', 'br', 'gzip']) {
      const accept = `Accept-Encoding: ${coding}`
      const [get, head] = [await send('GET', path, accept), await send('HEAD', path, accept)]
      expect([head.status, head.body.length]).toEqual([get.status, 0])
      expect(comparable(head)).toEqual(comparable(get))
    }
  })

  test(`GET ${route.path} refuses an unknown parameter under the API and names the known ones`, async () => {
    const path = pathOf(route).split('?')[0] ?? ''
    for (const query of ['statuss=x', '&statuss', '__proto__=1']) {
      // Without a payment, every request of a sold read is answered with its terms.
      const answer = await send('GET', `${path}?${query}`, 'X-PAYMENT: e30=')
      if (!path.startsWith(apiPrefix)) {
        if (route.serving.kind === 'document') expect(answer.status).toBe(200)
        continue
      }
      expect([query, answer.status]).toEqual([query, 400])
      const names = Object.keys(route.query ?? {})
      expect(parsed(answer)).toMatchObject({
        code: 'unknown_parameter',
        details: expect.stringContaining(
          `known parameters: ${names.length === 0 ? 'none' : names.join(', ')}`,
        ) as unknown,
      })
    }
  })

  test(`GET ${route.path} says in plain words what a query parameter must be`, async () => {
    for (const name of Object.keys(route.query ?? {})) {
      const answer = await send('GET', `${pathOf(route).split('?')[0] ?? ''}?${name}=%7B%7D`)
      expect(answer.status).toBeGreaterThanOrEqual(400)
      expect(JSON.stringify(parsed(answer))).not.toMatch(/Invalid [a-z]+:|expected |received |>=/)
    }
  })

  test(`GET ${route.path} returns the error body for an unknown name`, async () => {
    if (route.params === undefined) return
    const answer = await send(
      'GET',
      withParams(route, () => 'no-such-thing'),
    )
    expect(statusesOf(route)).toContain(String(answer.status))
    expect(answer.status).toBeGreaterThanOrEqual(400)
    errorBody.parse(parsed(answer))
    expect(answer.headers.get('cache-control')).toContain('no-store')
  })
})

const writes = all.filter(({ method }) => method !== 'GET')
test.each(writes.map((route) => [route.method, route.path, route] as const))(
  '%s %s refuses an empty object with a documented status',
  async (method, _path, route) => {
    const lines = ['Content-Type: application/json', 'Content-Length: 2']
    const answer = await sendRaw(service.address, `${method} ${pathOf(route)}`, lines, '{}')
    expect(statusesOf(route)).toContain(String(answer.status))
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.status).toBeLessThan(500)
    errorBody.parse(parsed(answer))
  },
)

describe.each(all.map((route) => [route.path, route] as const))('%s', (path, route) => {
  const methods: string[] = all.filter((other) => other.path === path).map(({ method }) => method)
  const expected = [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS'].toSorted()
  const allowed = ({ headers }: RawAnswer) => headers.get('allow')?.split(', ').toSorted()

  test(`${path} refuses every other method with 405 and lists its own`, async () => {
    for (const method of ['PUT', 'DELETE', 'POST', 'PATCH', 'PROPFIND', 'TRACE']) {
      if (methods.includes(method)) continue
      const answer = await send(method, pathOf(route))
      expect(answer.status).toBe(405)
      expect(allowed(answer)).toEqual(expected)
      expect(errorBody.parse(parsed(answer)).code).toBe('method_not_allowed')
    }
  })

  test(`OPTIONS ${path} is answered with the allowed methods`, async () => {
    const answer = await send('OPTIONS', pathOf(route))
    expect([answer.status, allowed(answer)]).toEqual([204, expected])
  })
})

test('every tag of a route is described', () => {
  const names = api.tags.map(({ name }) => name)
  expect(all.map(({ tag }) => tag).filter((tag) => !names.includes(tag))).toEqual([])
})

test('every published API path belongs to a route', () => {
  const unknown = documents.filter(
    (path) => path.startsWith('/api/') && validator.templateOf(path) === null,
  )
  expect(unknown).toEqual([])
})
