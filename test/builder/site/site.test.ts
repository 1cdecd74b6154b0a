import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { documentsOf } from '../../../builder/documents/index.ts'
import { renderBody } from '../../../builder/publish/document.ts'
import type { PublicDocument } from '../../../builder/publish/document.ts'
import { emptyMemory } from '../../../builder/publish/publish.ts'
import type { World } from '../../../builder/world/world.ts'
import { errorCodes } from '../../../src/contract/errors.ts'
import { routes } from '../../../src/contract/routes.ts'
import { hourMs } from '../../../src/core/time.ts'
import { fullWorld } from '../../site/worlds.ts'
import { siteOf } from '../../support/site.ts'
import { workspace } from '../publish/set.ts'

const siteUrl = 'https://ledger.test'
const repository = new URL('../../..', import.meta.url).pathname

const world = fullWorld(siteUrl)
const documents = [...siteOf(world)]

function text(path: string, from: readonly PublicDocument[] = documents): string {
  const document = from.find((candidate) => candidate.path === path)
  if (document === undefined) throw new Error(`no document ${path}`)
  return Buffer.from(renderBody(document, '')).toString('utf8')
}

describe('the site', () => {
  test('is identical when built again, and shares no path with the documents of the API', () => {
    const again = [...siteOf(world)]
    expect(again.map(({ path }) => path)).toEqual(documents.map(({ path }) => path))
    for (const { path } of again) expect(text(path, again), path).toBe(text(path))
    const paths = [...documents, ...documentsOf(world)].map(({ path }) => path)
    expect(paths.filter((path, at) => paths.indexOf(path) !== at)).toEqual([])
  })

  test('does not change when only an hour passes and no figures are carried over', () => {
    const [alpha] = world.rails
    const fresh: World = { ...world, rails: alpha === undefined ? [] : [alpha] }
    const later: World = { ...fresh, nowMs: fresh.nowMs + hourMs }
    const before = new Map(
      [...siteOf(fresh)].map((document) => [document.path, text(document.path, [document])]),
    )
    const changed = [...siteOf(later)].filter(
      (document) => before.get(document.path) !== text(document.path, [document]),
    )
    expect(changed.map(({ path }) => path)).toEqual([])
  })

  test('has no inline scripts, styles or handlers', () => {
    const pages = documents.filter(({ contentType }) => contentType.startsWith('text/html'))
    expect(pages.length).toBeGreaterThan(30)
    for (const { path } of pages) {
      const page = text(path)
      expect(page, path).not.toMatch(/<script(?![^>]* src="\/)/)
      expect(page, path).not.toMatch(/<style|\sstyle=|\son[a-z]+=/)
    }
  })

  test('marks unknown figures, and shows the age of carried-over ones', () => {
    expect(text('/rails/beta')).toContain('unknown')
    expect(text('/')).toContain('carried over, 2 days old')
    expect(text('/rails/delta.md')).toContain(
      'These figures are not live: carried over, 2 days old.',
    )
  })

  test('has an anchor for every error code and every endpoint', () => {
    const errors = text('/docs/errors')
    for (const code of Object.keys(errorCodes)) expect(errors).toContain(`id="${code}"`)
    const reference = text('/docs/reference')
    for (const { id, path } of routes) {
      expect(reference).toContain(`id="${id}"`)
      expect(reference).toContain(path)
    }
  })
})

describe('the page of a receipt', () => {
  test('shows the result of the on-chain verification', () => {
    const [receipt] = world.community.receipts
    if (receipt === undefined) throw new Error('the world has no receipt')
    const since = '2026-11-20T12:00:00.000Z'
    const pageWith = (onchain: NonNullable<typeof receipt.onchain>): string => {
      const receipts = [{ ...receipt, onchain }]
      const changed = { ...world, community: { ...world.community, receipts } }
      return text(`/receipts/${receipt.receipt_id}.md`, [...siteOf(changed)])
    }
    const final = pageWith({ verdict: 'final', block_number: 457_426_042, log_index: 7, since })
    expect(final).toContain('Verified on-chain: yes: its block is final')
    expect(final).toContain('Block: `457426042`, log 7')
    expect(pageWith({ verdict: 'mismatch', since })).toContain(
      'rejected: the transaction does not match',
    )
  })
})

describe('the page of a pact', () => {
  const page = (verifierRecipe: readonly string[]) => {
    const inFlight = world.pacts.inFlight.map((pact) => ({
      ...pact,
      verifier_recipe: [...verifierRecipe],
    }))
    const changed = { ...world, pacts: { ...world.pacts, inFlight } }
    return text('/pacts/14', [...siteOf(changed)])
  }

  test('shows commands of its recipe as code, and a single backtick as text', () => {
    expect(page(['Fetch it: `curl <x>` now'])).toContain('<code>curl &lt;x&gt;</code>')
    expect(page(['A lone ` stays'])).toContain('A lone ` stays')
  })

  test('is not rendered again while its pact is unchanged', () => {
    const revisions = (from: World) =>
      [...siteOf(from)]
        .filter(({ path }) => /^\/pacts\/\d+$/.test(path))
        .map(({ path, body }) => [path, 'make' in body ? body.revision : null] as const)
    const [settled] = world.pacts.settled
    if (settled === undefined) throw new Error('the world has no settled pact')
    const before = new Map(revisions(world))
    const changed = { ...settled, title: 'Another title' }
    const after = revisions({ ...world, pacts: { ...world.pacts, settled: [changed] } })
    expect([...before.values()]).not.toContain(null)
    expect(after.filter(([path, revision]) => before.get(path) !== revision)).toEqual([
      [`/pacts/${settled.pact_id}`, expect.any(String)],
    ])
  })
})

describe('the indexes for programs', () => {
  test('link in llms.txt only to published Markdown', () => {
    const paths = new Set([...documents, ...documentsOf(world)].map(({ path }) => path))
    const named = [...text('/llms.txt').matchAll(/\]\(https:\/\/ledger\.test(\/[^)]*)\)/g)].map(
      ([, path]) => path,
    )
    expect(named.length).toBeGreaterThan(40)
    expect(named.filter((path) => path !== '/snapshot.json' && !paths.has(path ?? ''))).toEqual([])
  })

  test('contain the digests of the agent skills as served', () => {
    const { skills } = z
      .object({
        skills: z.array(z.object({ name: z.string(), url: z.string(), digest: z.string() })),
      })
      .parse(JSON.parse(text('/.well-known/agent-skills/index.json')))
    expect(skills.map(({ name }) => name)).toEqual(['desk', 'pacts', 'register-and-earn'])
    for (const { url, digest } of skills) {
      const body = text(new URL(url).pathname, [...documentsOf(world)])
      expect(digest).toBe(`sha256:${createHash('sha256').update(body).digest('hex')}`)
    }
  })

  test('have a security.txt that expires in five to six months', () => {
    const expires = /^Expires: (\S+)$/m.exec(text('/.well-known/security.txt'))?.[1]
    const days = (Date.parse(expires ?? '') - world.nowMs) / (24 * hourMs)
    expect(days).toBeGreaterThan(140)
    expect(days).toBeLessThan(190)
  })

  test('have an API catalogue with the linkset content type', () => {
    const document = documents.find(({ path }) => path === '/.well-known/api-catalog')
    expect(document?.contentType).toContain('application/linkset+json')
    expect(text('/.well-known/api-catalog')).toContain('https://ledger.test/openapi.json')
  })

  test('have feeds with the newest entry first and unique entry ids', () => {
    const feed = z
      .object({
        version: z.string(),
        items: z.array(z.object({ id: z.string(), title: z.string() })),
      })
      .parse(JSON.parse(text('/feeds/flags.json')))
    expect(feed.version).toBe('https://jsonfeed.org/version/1.1')
    expect(feed.items.map(({ title }) => title)).toEqual([
      'Rail delta: the last poll failed, figures are carried over',
      'Rail alpha: more than half of the raw volume does not pass the filter rule',
      'Closed: Rail alpha: one worker takes more than 90 %',
    ])
    expect(new Set(feed.items.map(({ id }) => id)).size).toBe(3)
    expect(text('/feeds/transitions.atom')).toContain(
      '<title>Rail alpha: pre-traction → paying</title>',
    )
    const changelog =
      '# Changelog\n\n## [0.3.0] - unreleased\n\n- Soon.\n\n## [0.2.0] - 2026-11-20\n\n### Added\n\n- A <b>thing</b>.\n'
    const changes = text('/feeds/changes.atom', [...siteOf({ ...world, changelog })])
    expect(changes).toContain('<title>Version 0.2.0</title>')
    expect(changes).toContain('### Added - A &lt;b&gt;thing&lt;/b&gt;.')
    expect(changes).not.toContain('Soon')
  })

  test('link in the catalogues only to published documents', () => {
    const paths = new Set([...documents, ...documentsOf(world)].map(({ path }) => path))
    const catalog = z
      .object({
        specVersion: z.literal('1.0'),
        entries: z.array(z.object({ identifier: z.string(), type: z.string(), url: z.string() })),
      })
      .parse(JSON.parse(text('/.well-known/ai-catalog.json')))
    for (const { identifier, url } of catalog.entries) {
      expect(identifier).toMatch(/^urn:air:ledger\.test:[a-z-]+$/)
      expect(paths).toContain(new URL(url).pathname)
    }
    const card = z
      .object({ name: z.string().regex(/^[a-z.]+\/[a-z-]+$/), description: z.string().max(100) })
      .parse(JSON.parse(text('/mcp/server-card')))
    expect(card.name).toBe('test.ledger/agent-income-ledger')
    expect(text('/.well-known/mcp/server-card.json')).toBe(text('/mcp/server-card'))
  })

  test('collect skills, guides and lists in llms-full.txt', () => {
    const all = text('/llms-full.txt')
    expect(all).toContain('name: pacts')
    for (const heading of ['# Sign a request', '# Errors', '# Receipts']) {
      expect(all).toContain(`\n${heading}\n`)
    }
    expect(all).not.toContain('# Rail alpha')
    expect(all).not.toContain('# Second words')
    expect(all).not.toContain('# There is nothing at this address')
  })
})

describe('/openapi.d.ts', () => {
  test('compiles in strict mode and types responses, parameters and models', () => {
    const dir = mkdtempSync(join(tmpdir(), 'ledger-types-'))
    try {
      writeFileSync(join(dir, 'openapi.d.ts'), text('/openapi.d.ts'))
      writeFileSync(
        join(dir, 'use.ts'),
        `import type { components, paths } from './openapi.js'
type Answer = paths['/api/v1/rails/{name}']['get']['responses'][200]['content']['application/json']
export const status = (rail: Answer): components['schemas']['Rail']['status'] => rail.status
export const parameters: paths['/api/v1/rails/{name}']['get']['parameters'] = { path: { name: 'x402' } }
// @ts-expect-error -- a rail has no such status
export const wrong: components['schemas']['Rail']['status'] = 'rich'
// @ts-expect-error -- a rail is only read
export const written: NonNullable<paths['/api/v1/rails/{name}']['post']> = 1
`,
      )
      const tsc = join(repository, 'node_modules/.bin/tsc')
      const flags = [
        '--noEmit',
        '--strict',
        '--module',
        'nodenext',
        '--target',
        'es2023',
        '--types',
        '',
      ]
      expect(() =>
        execFileSync(tsc, [...flags, 'use.ts'], { cwd: dir, stdio: 'pipe' }),
      ).not.toThrow()
    } finally {
      rmSync(dir, { recursive: true })
    }
  })
})

function largeWorld(): World {
  const [rail] = world.rails
  const [worker] = world.community.workers
  const [receipt] = world.community.receipts
  if (!rail || !worker || !receipt) throw new Error('the small world lost an entry')
  const numbers = Array.from({ length: 40 }, (_, index) => index)
  const hex = (index: number) => index.toString(16).padStart(64, '0')
  const polls = world.history.get('alpha') ?? []
  return {
    ...world,
    rails: numbers.map((index) => ({
      ...rail,
      authored: { ...rail.authored, rail: `rail-${index}` },
    })),
    history: new Map(numbers.map((index) => [`rail-${index}`, polls])),
    community: {
      ...world.community,
      leaderboard: [],
      workers: numbers.map((index) => ({ ...worker, wallet: hex(index) })),
      receipts: numbers.map((index) => ({
        ...receipt,
        receipt_id: `rcp_${hex(index)}`,
        to_wallet: hex(index),
      })),
    },
  }
}

/** Records the path of every body that is rendered. */
function withRecorder(all: readonly PublicDocument[], made: string[]): PublicDocument[] {
  return all.map((document) => {
    const { body, path } = document
    if (!('make' in body)) return document
    const make = () => {
      made.push(path)
      return body.make()
    }
    return { ...document, body: { revision: body.revision, make } }
  })
}

describe('a site of many pages', () => {
  test('renders and writes only the documents that depend on a change', async () => {
    const large = largeWorld()
    const space = await workspace()
    const memory = emptyMemory()
    try {
      const first = await space.publish([...siteOf(large)], { memory })
      expect(first.changed.length).toBeGreaterThan(250)
      const [changed, ...others] = large.rails
      if (changed === undefined) throw new Error('no rail')
      const named = { ...changed, authored: { ...changed.authored, notes: 'A new note.' } }
      const made: string[] = []
      const next = withRecorder([...siteOf({ ...large, rails: [named, ...others] })], made)
      const second = await space.publish(next, { memory })
      const dependent = ['/rails/rail-0', '/rails/rail-0.md']
      expect(second.changed).toEqual(dependent)
      expect(new Set(made)).toEqual(new Set(dependent))
    } finally {
      space.remove()
    }
  })
})

/** The full world with one change each, covering every input of a page. */
function changedWorlds(): readonly (readonly [string, World])[] {
  const { community, exchange } = world
  const [rail, ...rails] = world.rails
  const [receipt] = community.receipts
  const [worker] = community.workers
  const [partner] = community.partners
  const [job] = exchange.jobs
  const [article, ...articles] = world.articles
  const [place] = community.leaderboard
  const [settled] = world.pacts.settled
  const [tier, ...tiers] = world.tiers
  const [event] = world.events
  if (!rail || !receipt || !worker || !partner || !job || !article || !place || !settled) {
    throw new Error('the full world lost an entry')
  }
  if (!tier || !event) throw new Error('the full world lost an entry')
  const withCommunity = (changes: Partial<World['community']>): World => ({
    ...world,
    community: { ...community, ...changes },
  })
  const withState = (state: Partial<typeof rail.state>): World => ({
    ...world,
    rails: [{ ...rail, state: { ...rail.state, ...state } }, ...rails],
  })
  const polls = world.history.get('alpha') ?? []
  const newest = polls[0]
  if (newest === undefined) throw new Error('no polls')
  return [
    ['a day passes', { ...world, nowMs: world.nowMs + 24 * hourMs }],
    ['three weeks pass', { ...world, nowMs: world.nowMs + 21 * 24 * hourMs }],
    ['another address', { ...world, site: { ...world.site, url: 'https://other.test' } }],
    ['no history on the web', { ...world, site: { ...world.site, historyUrl: null } }],
    ['another version', { ...world, site: { ...world.site, version: '9.9.9' } }],
    ['a failed poll', withState({ lastError: 'HTTP 500', consecutiveFailures: 1 })],
    ['another duration', withState({ lastDurationMs: 77 })],
    ['a poll that found nothing new', withState({ lastPollAtMs: world.nowMs })],
    ['another status', withState({ status: 'dormant', statusSinceMs: world.nowMs })],
    ['no rule', { ...world, rails: [{ ...rail, rule: null }, ...rails] }],
    ['no evidence', { ...world, rails: [{ ...rail, evidence: [] }, ...rails] }],
    ['a rail less', { ...world, rails }],
    [
      'one more poll',
      {
        ...world,
        history: new Map([
          ...world.history,
          [
            'alpha',
            [{ ...newest, polledAtMs: newest.polledAtMs + 1000, status: 'dormant' }, ...polls],
          ],
        ]),
      },
    ],
    ['no open flags', { ...world, openFlags: [] }],
    ['no closed flags', { ...world, closedFlags: [] }],
    ['no events', { ...world, events: [] }],
    [
      'another event',
      { ...world, events: [...world.events, { ...event, seq: 9, createdAtMs: world.nowMs }] },
    ],
    [
      'a rejected receipt',
      withCommunity({
        receipts: [{ ...receipt, verification: 'rejected', verification_reason: 'Why.' }],
      }),
    ],
    [
      'a known payer',
      withCommunity({ workers: [worker, { ...worker, wallet: receipt.from_wallet ?? '' }] }),
    ],
    ['another bio', withCommunity({ workers: [{ ...worker, bio: 'New.' }] })],
    ['another rank', withCommunity({ leaderboard: [{ ...place, rank: 7 }] })],
    ['no leaderboard', withCommunity({ leaderboard: [], workers: [] })],
    ['no receipts', withCommunity({ receipts: [] })],
    [
      'another endpoint',
      withCommunity({ partners: [{ ...partner, attestation_endpoint_url: null }] }),
    ],
    ['another tier', { ...world, tiers: [{ ...tier, name: 'Gratis' }, ...tiers] }],
    ['another bid', { ...world, exchange: { ...exchange, jobs: [{ ...job, bids_count: 40 }] } }],
    [
      'another settlement',
      { ...world, pacts: { ...world.pacts, settled: [{ ...settled, pact_id: '99' }] } },
    ],
    ['no logs of the escrow', { ...world, pacts: { ...world.pacts, events: new Map() } }],
    ['another text', { ...world, articles: [{ ...article, body: 'Another.' }, ...articles] }],
    ['another excerpt', { ...world, articles: [{ ...article, excerpt: 'Another.' }, ...articles] }],
  ]
}

test('documents with the same revision have the same body, whatever changed in the world', () => {
  const images = [{ path: '/share/home.png' }, { path: '/share/rails/alpha.png' }].map(
    ({ path }): PublicDocument => ({
      path,
      contentType: 'image/png',
      maxAgeSeconds: 300,
      body: { bytes: new Uint8Array([1]) },
      archive: null,
    }),
  )
  const none: readonly PublicDocument[] = []
  const cases = changedWorlds().map(([name, changed]) => [name, changed, none] as const)
  const known = new Map<string, string>()
  let kept = 0
  for (const [name, changed, shown] of [
    ['as it is', world, none] as const,
    ...cases,
    ['pictures', world, images] as const,
  ]) {
    for (const document of siteOf(changed, shown)) {
      const { body, path } = document
      if (!('make' in body)) continue
      const key = `${path} ${body.revision}`
      const bytes = Buffer.from(renderBody(document, '')).toString('utf8')
      const before = known.get(key)
      if (before !== undefined) kept += 1
      expect(before ?? bytes, `${name}: ${path}`).toBe(bytes)
      known.set(key, bytes)
    }
  }
  expect(kept).toBeGreaterThan(300)
})
