import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

import { documentsOf } from '../../../builder/documents/index.ts'
import type { PublicDocument } from '../../../builder/publish/document.ts'
import { emptyMemory } from '../../../builder/publish/publish.ts'
import type { World } from '../../../builder/world/world.ts'
import { errorCodes } from '../../../src/contract/errors.ts'
import { routes } from '../../../src/contract/routes.ts'
import { hourMs } from '../../../src/core/time.ts'
import { tempFolder } from '../../db/temp-database.ts'
import { fullWorld } from '../../site/worlds.ts'
import { siteOf, textAt, textOf } from '../../support/site.ts'
import { workspace } from '../publish/set.ts'

const siteUrl = 'https://ledger.test'
const repository = new URL('../../..', import.meta.url).pathname

const world = fullWorld(siteUrl)
const documents = [...siteOf(world)]

const allPaths = [...documents, ...documentsOf(world)].map(({ path }) => path)

const text = (path: string, from: readonly PublicDocument[] = documents) => textAt(path, from)

/** The list with changes of its first item. */
function withFirst<Item>(list: readonly Item[], changes: Partial<Item>): Item[] {
  const [first, ...others] = list
  if (first === undefined) throw new Error('the world has an empty list')
  return [{ ...first, ...changes }, ...others]
}

describe('the site', () => {
  test('is identical when built again, and shares no path with the documents of the API', () => {
    const again = [...siteOf(world)]
    expect(again.map(({ path }) => path)).toEqual(documents.map(({ path }) => path))
    for (const { path } of again) expect(text(path, again), path).toBe(text(path))
    expect(allPaths.filter((path, at) => allPaths.indexOf(path) !== at)).toEqual([])
  })

  test('does not change when only an hour passes and no figures are carried over', () => {
    const fresh: World = { ...world, rails: world.rails.slice(0, 1) }
    const later: World = { ...fresh, nowMs: fresh.nowMs + hourMs }
    const textsOf = (from: World) =>
      Object.fromEntries([...siteOf(from)].map((document) => [document.path, textOf(document)]))
    expect(textsOf(later)).toEqual(textsOf(fresh))
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

test('the page of a receipt shows the result of the on-chain verification', () => {
  const { community } = world
  const onchain = { verdict: 'mismatch', since: '2026-11-20T12:00:00.000Z' } as const
  const receipts = withFirst(community.receipts, { onchain })
  const site = siteOf({ ...world, community: { ...community, receipts } })
  const page = text(`/receipts/${receipts[0]?.receipt_id}.md`, site)
  expect(page).toContain('rejected: the transaction does not match')
})

describe('the page of a pact', () => {
  const page = (verifierRecipe: readonly string[]) => {
    const inFlight = withFirst(world.pacts.inFlight, { verifier_recipe: [...verifierRecipe] })
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
    const before = new Map(revisions(world))
    const settled = withFirst(world.pacts.settled, { title: 'Another title' })
    const after = revisions({ ...world, pacts: { ...world.pacts, settled } })
    expect([...before.values()]).not.toContain(null)
    expect(after.filter(([path, revision]) => before.get(path) !== revision)).toEqual([
      [`/pacts/${settled[0]?.pact_id}`, expect.any(String)],
    ])
  })
})

describe('the indexes for programs', () => {
  test('link in llms.txt only to published Markdown', () => {
    const paths = new Set(allPaths)
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
    const linkset = documents.find(({ path }) => path === '/.well-known/api-catalog')
    expect(linkset?.contentType).toContain('application/linkset+json')
    const paths = new Set(allPaths)
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

test('/openapi.d.ts compiles in strict mode and types responses, parameters and models', () => {
  const dir = tempFolder()
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
  const flags = '--noEmit --strict --module nodenext --target es2023 --types'.split(' ')
  execFileSync(tsc, [...flags, '', 'use.ts'], { cwd: dir, stdio: 'pipe' })
})

/** Forty rails, workers and receipts. */
function largeWorld(): World {
  const { community } = world
  const copies = <Item>(list: readonly Item[], changesOf: (at: number) => Partial<Item>): Item[] =>
    Array.from({ length: 40 }, (_, at) => withFirst(list, changesOf(at)).slice(0, 1)).flat()
  const hex = (at: number) => at.toString(16).padStart(64, '0')
  const [rail] = world.rails
  if (rail === undefined) throw new Error('the world has no rail')
  const rails = copies(world.rails, (at) => ({
    authored: { ...rail.authored, rail: `rail-${at}` },
  }))
  const polls = world.history.get('alpha') ?? []
  return {
    ...world,
    rails,
    history: new Map(rails.map(({ authored }) => [authored.rail, polls])),
    community: {
      ...community,
      leaderboard: [],
      workers: copies(community.workers, (at) => ({ wallet: hex(at) })),
      receipts: copies(community.receipts, (at) => ({
        receipt_id: `rcp_${hex(at)}`,
        to_wallet: hex(at),
      })),
    },
  }
}

test('a site of many pages renders and writes only the documents that depend on a change', async () => {
  const large = largeWorld()
  const place = await workspace()
  onTestFinished(place.remove)
  const memory = emptyMemory()
  const first = await place.publish([...siteOf(large)], { memory })
  expect(first.changed.length).toBeGreaterThan(250)
  const [rail] = large.rails
  if (rail === undefined) throw new Error('the world has no rail')
  const rails = withFirst(large.rails, { authored: { ...rail.authored, notes: 'A new note.' } })
  const rendered = new Set<string>()
  const next = [...siteOf({ ...large, rails })].map((document): PublicDocument => {
    const { body, path } = document
    if (!('make' in body)) return document
    const make = () => {
      rendered.add(path)
      return body.make()
    }
    return { ...document, body: { revision: body.revision, make } }
  })
  const second = await place.publish(next, { memory })
  const dependent = ['/rails/rail-0', '/rails/rail-0.md']
  expect(second.changed).toEqual(dependent)
  expect(rendered).toEqual(new Set(dependent))
})

/** One change each, which together cover every input of a page. */
function changesOfWorld(): Readonly<Record<string, Partial<World>>> {
  const { community, exchange, pacts, rails, articles, site, nowMs } = world
  const withCommunity = (changes: Partial<World['community']>): Partial<World> => ({
    community: { ...community, ...changes },
  })
  const [rail] = rails
  const withState = (changes: Partial<(typeof rails)[number]['state']>): Partial<World> =>
    rail === undefined ? {} : { rails: withFirst(rails, { state: { ...rail.state, ...changes } }) }
  const polls = world.history.get('alpha') ?? []
  const poll = withFirst(polls, { polledAtMs: nowMs, status: 'dormant' }).slice(0, 1)
  const [payer = ''] = community.receipts.map(({ from_wallet: wallet }) => wallet ?? '')
  return {
    'a day passes': { nowMs: nowMs + 24 * hourMs },
    'three weeks pass': { nowMs: nowMs + 21 * 24 * hourMs },
    'another address': { site: { ...site, url: 'https://other.test' } },
    'no history on the web': { site: { ...site, historyUrl: null } },
    'another version': { site: { ...site, version: '9.9.9' } },
    'a failed poll': withState({ lastError: 'HTTP 500', consecutiveFailures: 1 }),
    'another duration': withState({ lastDurationMs: 77 }),
    'a poll that found nothing new': withState({ lastPollAtMs: nowMs }),
    'another status': withState({ status: 'dormant', statusSinceMs: nowMs }),
    'no rule': { rails: withFirst(rails, { rule: null }) },
    'no evidence': { rails: withFirst(rails, { evidence: [] }) },
    'a rail less': { rails: rails.slice(1) },
    'one more poll': { history: new Map([...world.history, ['alpha', [...poll, ...polls]]]) },
    'no open flags': { openFlags: [] },
    'no closed flags': { closedFlags: [] },
    'no events': { events: [] },
    'another event': {
      events: [...world.events, ...withFirst(world.events, { seq: 9, createdAtMs: nowMs })],
    },
    'a rejected receipt': withCommunity({
      receipts: withFirst(community.receipts, {
        verification: 'rejected',
        verification_reason: 'Why.',
      }),
    }),
    'a known payer': withCommunity({
      workers: [...community.workers, ...withFirst(community.workers, { wallet: payer })],
    }),
    'another bio': withCommunity({ workers: withFirst(community.workers, { bio: 'New.' }) }),
    'another rank': withCommunity({ leaderboard: withFirst(community.leaderboard, { rank: 7 }) }),
    'no leaderboard': withCommunity({ leaderboard: [], workers: [] }),
    'no receipts': withCommunity({ receipts: [] }),
    'another endpoint': withCommunity({
      partners: withFirst(community.partners, { attestation_endpoint_url: null }),
    }),
    'another tier': { tiers: withFirst(world.tiers, { name: 'Gratis' }) },
    'another bid': {
      exchange: { ...exchange, jobs: withFirst(exchange.jobs, { bids_count: 40 }) },
    },
    'another settlement': {
      pacts: { ...pacts, settled: withFirst(pacts.settled, { pact_id: '99' }) },
    },
    'no logs of the escrow': { pacts: { ...pacts, events: new Map() } },
    'another text': { articles: withFirst(articles, { body: 'Another.' }) },
    'another excerpt': { articles: withFirst(articles, { excerpt: 'Another.' }) },
  }
}

test('documents with the same revision have the same body, whatever changed in the world', () => {
  const images = ['/share/home.png', '/share/rails/alpha.png'].map((path): PublicDocument => {
    const body = { bytes: new Uint8Array([1]) }
    return { path, contentType: 'image/png', maxAgeSeconds: 300, body, archive: null }
  })
  const sites = [
    ['the same world', siteOf(world)],
    ...Object.entries(changesOfWorld()).map(
      ([name, changes]) => [name, siteOf({ ...world, ...changes })] as const,
    ),
    ['share images', siteOf(world, images)],
  ] as const
  const known = new Map<string, string>()
  let repeated = 0
  for (const [name, site] of sites) {
    for (const document of site) {
      const { body, path } = document
      if (!('make' in body)) continue
      const key = `${path} ${body.revision}`
      const bytes = textOf(document)
      const before = known.get(key)
      if (before !== undefined) repeated += 1
      expect(before ?? bytes, `${name}: ${path}`).toBe(bytes)
      known.set(key, bytes)
    }
  }
  expect(repeated).toBeGreaterThan(300)
})
