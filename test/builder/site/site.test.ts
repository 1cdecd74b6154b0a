import { createHash } from 'node:crypto'

import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'

import type { PublicDocument } from '../../../builder/publish/document.ts'
import { emptyMemory } from '../../../builder/publish/publish.ts'
import type { World } from '../../../builder/world/world.ts'
import { errorCodes } from '../../../src/contract/errors.ts'
import { routes } from '../../../src/contract/routes.ts'
import { dayMs, hourMs } from '../../../src/core/time.ts'
import { fullWorld } from '../../site/worlds.ts'
import { documentsOf, siteOf, textAt, textOf } from '../../support/site.ts'
import { workspace } from '../publish/set.ts'

const siteUrl = 'https://ledger.test'

const world = fullWorld(siteUrl)
const documents = [...siteOf(world)]

const allPaths = [...documents, ...documentsOf(world)].map(({ path }) => path)

const text = (path: string, from: readonly PublicDocument[] = documents) => textAt(path, from)

function withFirst<Item>(list: readonly Item[], changes: Partial<Item>): Item[] {
  const [first, ...others] = list
  if (first === undefined) throw new Error('the world has an empty list')
  return [{ ...first, ...changes }, ...others]
}

describe('the site', () => {
  test('the site is identical when built again, and shares no path with the documents of the API', () => {
    const again = [...siteOf(world)]
    expect(again.map(({ path }) => path)).toEqual(documents.map(({ path }) => path))
    for (const { path } of again) expect(text(path, again), path).toBe(text(path))
    expect(allPaths.filter((path, at) => allPaths.indexOf(path) !== at)).toEqual([])
  })

  test('the site does not change when only an hour passes and no figures are carried over', () => {
    const fresh: World = { ...world, rails: world.rails.slice(0, 1) }
    const later: World = { ...fresh, nowMs: fresh.nowMs + hourMs }
    const textsOf = (from: World) =>
      Object.fromEntries([...siteOf(from)].map((document) => [document.path, textOf(document)]))
    expect(textsOf(later)).toEqual(textsOf(fresh))
  })

  test('the site shows how many days of a rail are read', () => {
    const fromMs = Date.UTC(2026, 9, 1)
    const backfill = {
      fromMs,
      toMs: fromMs + 30 * dayMs,
      readUntilMs: fromMs + 12.7 * dayMs,
      leftMs: null,
    }
    const reading: World = { ...world, rails: withFirst(world.rails, { backfill }) }
    const rail = reading.rails[0]?.authored.rail ?? ''
    const pages = [...siteOf(reading)]
    expect(text(`/rails/${rail}.md`, pages)).toContain('12 of 30 days read')
    expect(text('/status.md', pages)).toContain('12 of 30 days read (42 %)')
    const document = documentsOf(reading).find(({ path }) => path === `/api/v1/rails/${rail}`)
    expect(document === undefined ? '' : JSON.parse(textOf(document))).toMatchObject({
      backfill: { read_until: '2026-10-13T16:48:00.000Z', percent: 42 },
    })
  })

  test('the site marks unknown figures, and shows the age of carried-over ones', () => {
    expect(text('/rails/beta')).toContain('unknown')
    expect(text('/')).toContain('Carried over, 2 days old')
    expect(text('/rails/delta.md')).toContain(
      'These figures are not live: carried over, 2 days old.',
    )
  })

  test('live statistics name the sums and counts for which no rail was read', () => {
    const audited = world.rails.map((record) => ({
      ...record,
      state: { ...record.state, figuresSource: 'audit' as const },
    }))
    const live = (from: World): unknown =>
      JSON.parse(textAt('/api/v1/stats/live', [...documentsOf(from)]))
    expect(live(world)).toMatchObject({ unknown_figures: [] })
    const unread: World = { ...world, rails: audited }
    const unknown_figures = ['tpv_30d_usdc', 'tpv_7d_usdc', 'rails_paying', 'opportunities']
    expect(live(unread)).toMatchObject({ tpv_30d_usdc: 0, unknown_figures })
  })

  test('a rail that is judged by activity lists no workers but listings', () => {
    const [first] = world.rails
    if (first === undefined) throw new Error('the world has no rails')
    const listing: World = {
      ...world,
      rails: withFirst(world.rails, {
        authored: { ...first.authored, status_basis: 'activity' },
      }),
    }
    const path = `/rails/${first.authored.rail}.md`
    expect(text(path)).toContain('Workers')
    expect(text(path, [...siteOf(listing)])).toContain('Listings')
    expect(text('/index.md', [...siteOf(listing)])).toContain('none known')
  })

  test('a rail that is judged by activity pays nobody in its verdict', () => {
    const [first] = world.rails
    if (first === undefined) throw new Error('the world has no rails')
    const authored = { ...first.authored, status_basis: 'activity' as const }
    const rails = withFirst(world.rails, { authored })
    const page = text(`/rails/${authored.rail}.md`, [...siteOf({ ...world, rails })])
    expect(page).toContain('This rail makes no payments')
    expect(page).not.toMatch(/customers? paid/)
  })

  test('a step of the method does not end at the query of an address', () => {
    const [first] = world.rails
    if (first === undefined) throw new Error('the world has no rails')
    const methodology = 'Reads jobs (GET /jobs?status=done). Counts them.'
    const authored = { ...first.authored, methodology }
    const rails = withFirst(world.rails, { authored })
    const page = text(`/rails/${authored.rail}.md`, [...siteOf({ ...world, rails })])
    expect(page).toContain('\n2. Counts them.')
  })

  test('the docs have an anchor for every error code and every endpoint', () => {
    const errors = text('/docs/errors')
    for (const code of Object.keys(errorCodes)) expect(errors).toContain(`id="${code}"`)
    for (const { id, path, tag } of routes) {
      for (const page of ['/docs/reference', `/docs/reference/${tag.toLowerCase()}`]) {
        expect(text(page)).toContain(`id="${id}"`)
        expect(text(page)).toContain(path)
      }
    }
  })
})

describe('the page of a pact', () => {
  const page = (verifierRecipe: readonly string[]) => {
    const inFlight = withFirst(world.pacts.inFlight, { verifier_recipe: [...verifierRecipe] })
    const changed = { ...world, pacts: { ...world.pacts, inFlight } }
    return text('/pacts/14', [...siteOf(changed)])
  }

  test('the page of a pact shows commands of its recipe as code, and a single backtick as text', () => {
    expect(page(['Fetch it: `curl <x>` now'])).toContain('<code>curl &lt;x&gt;</code>')
    expect(page(['A lone ` stays'])).toContain('A lone ` stays')
  })

  test('the page of a pact is not rendered again while its pact is unchanged', () => {
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

test('the page of a pact marks the facts that its sources state differently', () => {
  const [settled] = world.pacts.settled
  if (settled === undefined) throw new Error('the world has no settled pact')
  const escrow = (recipient: string) => ({
    status: 'Completed' as const,
    creator: settled.payer,
    recipient,
    amount_pact: '40',
    deadline: '2026-11-30T00:00:00.000Z',
    work_hash: null,
    last_event: 'approved',
    tx_hash: settled.tx_hash,
    block_number: settled.block_number,
    at: settled.settled_at,
    explorer_url: settled.explorer_url,
  })
  const page = (recipient: string) => {
    const states = new Map([[settled.pact_id, escrow(recipient)]])
    const pacts = { ...world.pacts, escrow: states }
    return text(`/pacts/${settled.pact_id}.md`, [...siteOf({ ...world, pacts })])
  }
  const rowOf = (shown: string) => shown.split('\n').find((line) => line.startsWith('| Worker'))
  expect(rowOf(page(settled.worker))).toContain('✓ agree')
  expect(rowOf(page(settled.payer))).toContain('✗ contradict')
})

describe('the page of a skill', () => {
  test('the number of paying rails is the same in the API and in the sentences of pages', () => {
    const { rails_paying: paying } = z
      .object({ rails_paying: z.number() })
      .parse(JSON.parse(text('/api/v1/stats/live', documentsOf(world))))
    expect(text('/index.md')).toMatch(
      new RegExp(`^# ${paying} of \\d+ judged rails pay AI agents$`, 'm'),
    )
    expect(text('/opportunities.md')).toMatch(new RegExp(`^${paying} rails pay now: \\d `, 'm'))
  })

  test('the page of a skill shows its rails with their status, and is linked but not in llms.txt', () => {
    const page = text('/skills/technical-writing.md')
    expect(page).toContain('[Rail alpha](https://ledger.test/rails/alpha)')
    expect(page).toMatch(
      /^1 of 1 rail that sells it pays now: 1 with an open warning or old figures\./m,
    )
    expect(text('/skills.md')).toContain('(https://ledger.test/skills/technical-writing)')
    expect(text('/sitemap.xml')).toContain('/skills/technical-writing<')
    expect(text('/search')).toContain('"/skills/technical-writing"')
    expect(text('/llms.txt')).not.toContain('/skills/technical-writing')
  })
})

describe('the page of the week', () => {
  const at = (days: number) => world.nowMs - days * dayMs
  const event = (from: string, to: string, createdAtMs: number) => {
    const kind = 'rail_transition' as const
    return { seq: createdAtMs, kind, rail: 'alpha', title: '', data: { from, to }, createdAtMs }
  }
  const page = (events: World['events']) => text('/week.md', [...siteOf({ ...world, events })])

  test('the week lists each change of status, also one that was undone', () => {
    const undone = [event('paying', 'dormant', at(2)), event('dormant', 'paying', at(1))]
    expect(page(undone.slice(0, 1))).toMatch(/^One rail changed status this week: /m)
    expect(page(undone)).toMatch(/^2 status changes this week\. /m)
    for (const change of ['paying → dormant', 'dormant → paying']) {
      expect(page(undone)).toContain(change)
    }
  })

  test('the week omits older changes', () => {
    for (const events of [[event('dormant', 'paying', at(9))], []]) {
      expect(page(events)).toMatch(/^No rail changed status this week\./m)
    }
  })
})

describe('the indexes for programs', () => {
  test('llms.txt links only to published Markdown', () => {
    const paths = new Set(allPaths)
    const named = [...text('/llms.txt').matchAll(/\]\(https:\/\/ledger\.test(\/[^)]*)\)/g)].map(
      ([, path]) => path,
    )
    expect(named.length).toBeGreaterThan(40)
    expect(named.filter((path) => path !== '/snapshot.json' && !paths.has(path ?? ''))).toEqual([])
  })

  test('the index of agent skills contains their digests as served', () => {
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

  test('security.txt expires in five to six months', () => {
    const expires = /^Expires: (\S+)$/m.exec(text('/.well-known/security.txt'))?.[1]
    const days = (Date.parse(expires ?? '') - world.nowMs) / (24 * hourMs)
    expect(days).toBeGreaterThan(140)
    expect(days).toBeLessThan(190)
  })

  test('feeds have the newest entry first and unique entry ids', () => {
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
    const ofRail = text('/feeds/rails/alpha.atom')
    expect(ofRail).toContain('<title>Rail alpha: pre-traction → paying</title>')
    expect(ofRail).toContain('one worker takes more than 90 %')
    expect(ofRail).not.toContain('Rail delta')
    expect(text('/feeds/receipts.atom')).toMatch(/<title>Receipt of [\d.]+ USDC on \w+, verified</)
    expect(text('/feeds/jobs.atom')).toMatch(/<title>[^<]+, open</)
    expect(text('/feeds/pacts.atom')).toContain('<title>Pact 12: settled</title>')
    const changelog =
      '# Changelog\n\n## [0.3.0] - unreleased\n\n- Soon.\n\n## [0.2.0] - 2026-11-20\n\n### Added\n\n- A <b>thing</b>.\n'
    const changes = text('/feeds/changes.atom', [...siteOf({ ...world, changelog })])
    expect(changes).toContain('<title>Version 0.2.0</title>')
    expect(changes).toContain('### Added - A &lt;b&gt;thing&lt;/b&gt;.')
    expect(changes).not.toContain('Soon')
  })

  test('ids of feeds and entries survive another address of the site and a new signing key', () => {
    const keys = world.signingKeys.keys.flatMap((key) => [{ ...key, kid: 'newer' }, key])
    const site = { ...world.site, url: 'https://moved.test' }
    const moved = [...siteOf({ ...world, site, signingKeys: { keys } })]
    const feeds = allPaths.filter((path) => path.startsWith('/feeds/'))
    const idsOf = (feed: string) =>
      [...feed.matchAll(/<id>(.*?)<\/id>|"id": ?"(.*?)"/g)].map(String)
    for (const path of feeds) {
      const ids = idsOf(text(path))
      expect(ids.every((id) => id.includes('urn:agent-income-ledger:'))).toBe(true)
      expect([path, idsOf(text(path, moved))]).toEqual([path, ids])
    }
    expect(feeds.flatMap((path) => idsOf(text(path))).length).toBeGreaterThan(feeds.length)
  })

  test('the catalogues link only to published documents', () => {
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

  test('llms-full.txt collects skills and guides', () => {
    const all = text('/llms-full.txt')
    expect(all).toContain('name: pacts')
    for (const heading of ['Documentation', 'Sign a request', 'Errors']) {
      expect(all).toContain(`\n# ${heading}\n`)
    }
    const others = [
      'Receipts',
      'API reference',
      'Receipts API',
      'Models',
      'Rail alpha',
      'Second words',
    ]
    for (const heading of others) expect(all).not.toContain(`\n# ${heading}`)
  })
})

test('a changed note renders and writes only the pages of its rail', async () => {
  const place = await workspace()
  onTestFinished(place.remove)
  const memory = emptyMemory()
  const first = await place.publish([...siteOf(world)], { memory })
  expect(first.changed.length).toBeGreaterThan(100)
  // The reference shows the first rail as an example.
  const rails = world.rails.map((record) => {
    const { authored } = record
    if (authored.rail !== 'beta') return record
    return { ...record, authored: { ...authored, notes: 'A new note.' } }
  })
  const rendered = new Set<string>()
  const next = [...siteOf({ ...world, rails })].map((document): PublicDocument => {
    const { body, path } = document
    if (!('make' in body)) return document
    const make = () => {
      rendered.add(path)
      return body.make()
    }
    return { ...document, body: { revision: body.revision, make } }
  })
  const second = await place.publish(next, { memory })
  const dependent = ['/rails/beta', '/rails/beta.md']
  expect(second.changed).toEqual(dependent)
  expect(rendered).toEqual(new Set(dependent))
})
