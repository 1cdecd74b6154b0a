/** Queries that select entries of published lists. */
import { expect, test } from 'vitest'
import { z } from 'zod'

import { verifyEd25519 } from '../../src/auth/ed25519.ts'
import { signBytes, signingKeyFromSeed } from '../../src/auth/signing-key.ts'
import { routes } from '../../src/contract/routes.ts'
import { isoTime } from '../../src/core/time.ts'
import { jsonDocument } from '../support/http-service.ts'
import { requestJson } from '../support/requests.ts'
import { documentsOf, textOf } from '../support/site.ts'
import { useService } from '../support/use-service.ts'
import { smallWorld, worldNowMs } from '../support/world.ts'

const opportunitiesPath = '/api/v1/opportunities'
const world = smallWorld()
const { community } = world
const [first] = community.leaderboard
const second = { wallet: '0x8617E340B3D01FA5F11F306F4090FD50E238070D', rank: 2 }
const leaderboard = first === undefined ? [] : [first, { ...first, ...second }]
const key = signingKeyFromSeed(new Uint8Array(32).fill(9))
const service = useService({
  options: () =>
    Promise.resolve({
      actions: {
        keys: { answers: () => ({ kid: key.kid, sign: (bytes) => signBytes(key, bytes) }) },
      },
    }),
  documents: [...documentsOf({ ...world, community: { ...community, leaderboard } })],
  publishedAtMs: worldNowMs,
  per: 'file',
})
const older = useService({
  documents: [...documentsOf(world)].map((document) =>
    document.path === opportunitiesPath
      ? jsonDocument(document.path, withoutIncome(textOf(document, isoTime(worldNowMs))))
      : document,
  ),
  publishedAtMs: worldNowMs,
  per: 'file',
})
const unpublished = useService({ documents: [], per: 'file' })

const leaderboardPage = z.object({
  leaderboard: z.array(z.unknown()),
  next_cursor: z.string().optional(),
})

/** The document as an older version published it. */
function withoutIncome(text: string) {
  const reviver = (name: string, value: unknown) =>
    name.startsWith('worker_usd_per_day') ? undefined : value
  return z.json().parse(JSON.parse(text, reviver))
}

async function rowsAt(
  path: string,
  list: string,
  from = service,
): Promise<Record<string, unknown>[]> {
  const { status, body } = await requestJson(from, path)
  expect(status, JSON.stringify(body)).toBe(200)
  const rows = z.array(z.record(z.string(), z.unknown())).parse(body[list])
  expect(body['count']).toBe(rows.length)
  return rows
}

test('rails are selected by status, chain and category', async () => {
  const all = await rowsAt('/api/v1/rails', 'rails')
  for (const name of ['status', 'chain', 'category']) {
    for (const value of new Set(all.map((rail) => String(rail[name])))) {
      const found = await rowsAt(`/api/v1/rails?${name}=${value}`, 'rails')
      expect(found).toEqual(all.filter((rail) => rail[name] === value))
    }
  }
  const paying = all.filter(({ status, chain }) => status === 'paying' && chain === 'base')
  expect(await rowsAt('/api/v1/rails?status=paying&chain=base', 'rails')).toEqual(paying)
  expect(await rowsAt('/api/v1/rails?chain=near', 'rails')).toEqual([])
})

test('opportunities are selected by chain and limited, highest expected income first', async () => {
  const all = await rowsAt('/api/v1/opportunities', 'opportunities')
  expect(await rowsAt('/api/v1/opportunities?limit=1', 'opportunities')).toEqual(all.slice(0, 1))
  const onBase = all.filter(({ chain }) => chain === 'base')
  expect(await rowsAt('/api/v1/opportunities?chain=base', 'opportunities')).toEqual(onBase)
})

test('opportunities are selected by skill and by entry cost', async () => {
  const all = await rowsAt(opportunitiesPath, 'opportunities')
  const bySkill = await rowsAt(`${opportunitiesPath}?skill=technical-writing`, 'opportunities')
  expect(bySkill).toEqual(all.filter(({ rail }) => rail === 'alpha'))
  expect(bySkill).toHaveLength(1)
  const costs = all.map((entry) => Number(entry['entry_cost_usdc']))
  for (const most of ['0', '0.5', '2.50', '1000']) {
    const found = await rowsAt(`${opportunitiesPath}?max_entry_usdc=${most}`, 'opportunities')
    expect(found).toEqual(all.filter((_, at) => (costs[at] ?? 0) <= Number(most)))
  }
  const both = `${opportunitiesPath}?skill=technical-writing&chain=near&limit=2`
  expect(await rowsAt(both, 'opportunities')).toEqual([])
})

test.each([
  [
    'skill=Technical%20Wrting',
    'skill Unknown skill "Technical Wrting" (similar: technical-writing); GET /api/v1/skills lists all',
  ],
  ['skill=', 'skill Unknown skill ""; GET /api/v1/skills lists all'],
  ['chain=bitcoin', 'chain must be one of off-chain, base, '],
  ['max_entry_usdc=-1', 'max_entry_usdc must be 0 to 1,000,000,000 USDC with at most 6 decimals'],
  ['max_entry_usdc=0.0000001', 'max_entry_usdc must be 0 to 1,000,000,000 USDC'],
  ['max_entry_usdc=ten', 'max_entry_usdc must be 0 to 1,000,000,000 USDC'],
  ['limit=0', 'limit must be 1 to 200'],
  ['limit=1&limit=2', 'limit is given more than once'],
])('opportunities refuse ?%s and name what to send instead', async (query, expected) => {
  const { status, body } = await requestJson(service, `${opportunitiesPath}?${query}`)
  expect([status, body['code']]).toEqual([400, 'invalid_input'])
  const [issue] = z.array(z.object({ path: z.string(), message: z.string() })).parse(body['issues'])
  expect(`${issue?.path} ${issue?.message}`).toContain(expected)
})

test('an answer to a query is signed over bytes that repeat its parameters', async () => {
  for (const [path, query] of [
    ['/api/v1/rails', { status: 'paying', chain: 'base' }],
    ['/api/v1/rails/alpha/history', { limit: '1' }],
    ['/api/v1/stats/live', { since: '2026-11-20T00:00:00Z' }],
    ['/api/v1/workers', { limit: '1', skill: 'translation' }],
    ['/api/v1/partners', { limit: '1' }],
  ] as const) {
    const answer = await fetch(`${service.url}${path}?${new URLSearchParams(query).toString()}`)
    const bytes = new Uint8Array(await answer.arrayBuffer())
    expect(JSON.parse(Buffer.from(bytes).toString())).toMatchObject({ query })
    expect(answer.headers.get('x-signature-key')).toBe(key.kid)
    const signature = answer.headers.get('x-signature')?.replace('ed25519:', '') ?? ''
    expect(verifyEd25519(bytes, Buffer.from(signature, 'base64'), key.publicKey).valid).toBe(true)
  }
})

test('opportunities refuse an unknown parameter with the list of the known ones', async () => {
  for (const query of [
    'max_entry=0',
    'chain=base&sort=income',
    'utm_source=x',
    '__proto__=1',
    '=&=',
    '=x',
  ]) {
    const { status, body } = await requestJson(service, `${opportunitiesPath}?${query}`)
    expect([status, body['code']], query).toEqual([400, 'unknown_parameter'])
    expect(body['details']).toContain('known parameters: skill, chain, max_entry_usdc, limit')
  }
})

test('opportunities without parameters are the published document', async () => {
  const published = await fetch(`${service.url}${opportunitiesPath}`)
  const text = await published.text()
  expect(published.headers.get('x-signature')).not.toBeNull()
  for (const query of ['?', '?&']) {
    const answer = await fetch(`${service.url}${opportunitiesPath}${query}`)
    expect(await answer.text()).toBe(text)
    expect(answer.headers.get('etag')).toBe(published.headers.get('etag'))
  }
})

test('a set of an older version without the income of workers answers queries', async () => {
  const rows = await rowsAt('/api/v1/opportunities?limit=200', 'opportunities')
  expect(rows[0]).toHaveProperty('worker_usd_per_day_median')
  const old = await rowsAt(`${opportunitiesPath}?limit=200`, 'opportunities', older)
  expect(old).toHaveLength(rows.length)
  expect(old[0]).not.toHaveProperty('worker_usd_per_day_median')
})

test('the history of a rail accepts a limit and a start time', async () => {
  const path = '/api/v1/rails/alpha/history'
  const all = await rowsAt(path, 'polls')
  expect(all.length).toBeGreaterThan(1)
  expect(await rowsAt(`${path}?limit=1`, 'polls')).toEqual(all.slice(0, 1))
  const since = String(all[1]?.['polled_at'])
  expect(await rowsAt(`${path}?since=${since}`, 'polls')).toEqual(all.slice(0, 1))
  const page = await fetch(`${service.url}${path}?limit=1&since=2026-01-01T00:00:00Z`)
  const [, next = ''] = /^<(.+)>; rel="next"$/.exec(page.headers.get('link') ?? '') ?? []
  expect(next).toContain('limit=1&since=2026-01-01T00%3A00%3A00Z&cursor=')
  expect(await rowsAt(next, 'polls')).toEqual(all.slice(1, 2))
  const missing = await requestJson(service, '/api/v1/rails/unheard-of/history?limit=2')
  expect([missing.status, missing.body['code']]).toEqual([404, 'unknown_rail'])
})

test('the pages of the leaderboard contain every wallet once', async () => {
  const all = await rowsAt('/api/v1/leaderboard', 'leaderboard')
  expect(all.length).toBeGreaterThan(1)
  const found: unknown[] = []
  let cursor = ''
  for (;;) {
    const { body } = await requestJson(service, `/api/v1/leaderboard?limit=1${cursor}`)
    const page = leaderboardPage.parse(body)
    found.push(...page.leaderboard)
    if (page.next_cursor === undefined) break
    cursor = `&cursor=${page.next_cursor}`
  }
  expect(found).toEqual(all)
  const bad = await requestJson(service, '/api/v1/leaderboard?cursor=d29ya2Vycy4x')
  expect([bad.status, bad.body['code']]).toEqual([400, 'bad_cursor'])
})

test('an unknown value of a parameter is refused with the list of its values', async () => {
  const { status, body } = await requestJson(service, '/api/v1/rails?status=payin')
  expect(status).toBe(400)
  expect(JSON.stringify(body)).toContain('paying, pre-traction, concentrated, potemkin, dormant')
})

test('a query before the first publication returns 503', async () => {
  const { status } = await requestJson(unpublished, '/api/v1/rails?status=paying')
  expect(status).toBe(503)
})

test('the API index lists every request', async () => {
  const { body } = await requestJson(service, '/api/v1')
  const requests = z.array(z.object({ id: z.string() })).parse(body['requests'])
  expect(requests.map(({ id }) => id)).toEqual(routes.map(({ id }) => id))
})

test('the list of partners omits their private fields', async () => {
  const [partner] = await rowsAt('/api/v1/partners', 'partners')
  expect(partner).toMatchObject({ tier: expect.any(String) as unknown })
  expect(Object.keys(partner ?? {})).not.toContain('email')
})
