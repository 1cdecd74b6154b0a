import { describe, expect, test } from 'vitest'
import { z } from 'zod'

import { historyDocuments } from '../../../builder/documents/history.ts'
import type { PublicDocument } from '../../../builder/publish/document.ts'
import type { PollRecord } from '../../../builder/world/world.ts'
import { routeIds, routeOf } from '../../../src/contract/routes.ts'
import type { RouteId } from '../../../src/contract/routes.ts'
import { documentFile } from '../../../src/core/documents.ts'
import { figures } from '../../support/figures.ts'
import { documentsOf, textOf, textAt as documentTextAt } from '../../support/site.ts'
import { failedPoll, goodPoll, railRecord, smallWorld, worldNowMs } from '../../support/world.ts'

const computedAt = '2026-11-21T06:30:00.000Z'

const derivedByPublisher = ['getSnapshotManifest', 'getLatestDiff']

const documents: readonly PublicDocument[] = [...documentsOf(smallWorld())]

function pattern(id: RouteId): RegExp {
  const literal = routeOf(id).path.replace(/[.*+?^$()|[\]\\]/g, '\\$&')
  return new RegExp(`^${literal.replaceAll(/\{\w+\}/g, '[^/]+?')}$`)
}

/** The route of a document: the one without parameters where both match, as a router would choose. */
function routeOfPath(path: string, ids: readonly RouteId[]): RouteId | undefined {
  return ids
    .filter((id) => pattern(id).test(path))
    .toSorted((a, b) => routeOf(a).path.split('{').length - routeOf(b).path.split('{').length)[0]
}

const text = (document: PublicDocument) => textOf(document, computedAt)
const textAt = (path: string, from: readonly PublicDocument[] = documents) =>
  documentTextAt(path, from, computedAt)
const body = (path: string, from?: readonly PublicDocument[]): unknown =>
  JSON.parse(textAt(path, from))

function csvRows(source: string): string[][] {
  return source
    .trimEnd()
    .split('\r\n')
    .map((line) =>
      [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,"]*))/g)].map(
        ([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? plain,
      ),
    )
}

function keysOf(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(keysOf)
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([key, member]) => [key, ...keysOf(member)])
}

const documentRoutes = routeIds.filter((id) => routeOf(id).serving.kind === 'document')

test('the documents answer every document route of the contract, and no other', () => {
  const built = documents.map(({ path }) => routeOfPath(path, documentRoutes))
  expect(new Set([...built, ...derivedByPublisher])).toEqual(new Set(documentRoutes))
})

describe.each(documents.map((document) => [document.path, document] as const))(
  '%s',
  (path, document) => {
    const route = routeOf(routeOfPath(path, documentRoutes) ?? 'getHealth')
    const answer = route.answers[200]

    test(`${path} has the content type and max-age of its route`, () => {
      expect(document.contentType).toBe(answer?.contentType ?? 'application/json')
      expect(route.serving).toEqual({ kind: 'document', maxAgeSeconds: document.maxAgeSeconds })
      expect(() => documentFile(path, document.contentType)).not.toThrow()
    })

    test(`${path} matches the schema of its route and has no other members`, () => {
      const source = text(document)
      const value: unknown =
        document.contentType === 'application/json' ? JSON.parse(source) : source
      expect((answer?.schema ?? z.never()).parse(value)).toEqual(value)
    })
  },
)

describe('the documents as a whole', () => {
  test('documents are the same when they are built again', () => {
    const built = (all: readonly PublicDocument[]) =>
      all.map((document) => ({ ...document, body: text(document) }))
    // The OpenAPI document is kept for each object `site`.
    const again = smallWorld({ site: { ...smallWorld().site } })
    expect(built([...documentsOf(again)])).toEqual(built(documents))
  })

  test('archived documents contain no volatile members', () => {
    const volatile = ['polled_at', 'poll_duration_ms', 'computed_at', 'figures_as_of', 'views_24h']
    const facts = documents.filter(({ path }) => path !== '/openapi.json')
    const keys = facts.flatMap(({ path, archive }) =>
      typeof archive === 'string' ? [] : keysOf(archive).map((key) => `${path} ${key}`),
    )
    expect(keys.length).toBeGreaterThan(100)
    expect(keys.filter((entry) => volatile.some((key) => entry.endsWith(` ${key}`)))).toEqual([])
  })

  test('agent skills are published with their placeholders filled in', () => {
    expect(textAt('/pacts/SKILL.md')).toBe(
      '---\nname: pacts\n---\nagent-income-ledger: https://ledger.test/api/v1/pacts, https://ledger.test\n',
    )
  })
})

test('a skill that only dormant rails offer says so', () => {
  const world = smallWorld()
  const skills = world.taxonomy.skills.flatMap((skill) => [
    { ...skill, slug: 'asleep', surface: ['gamma'] },
    { ...skill, slug: 'awake', surface: ['gamma', 'alpha'] },
  ])
  const built = [...documentsOf({ ...world, taxonomy: { ...world.taxonomy, skills } })]
  expect(body('/api/v1/skills/asleep', built)).toHaveProperty('only_dormant', true)
  expect(body('/api/v1/skills/awake', built)).not.toHaveProperty('only_dormant')
})

describe('unknown figures', () => {
  test('an unknown figure is 0 in a rail and named in unknown_figures', () => {
    expect(body('/api/v1/rails/beta')).toMatchObject({
      tpv_30d_usdc: 0,
      unique_creators_30d: 3,
      unique_workers_30d: 0,
      top_worker_share: 0,
      unknown_figures: [
        'tpv_30d_usdc',
        'tpv_7d_usdc',
        'tpv_30d_raw_usdc',
        'tpv_7d_raw_usdc',
        'tpv_30d_net_usdc',
        'parties_30d',
        'unique_workers_30d',
        'top_worker_share',
        'worker_usd_per_day_low',
        'worker_usd_per_day_median',
        'worker_usd_per_day_high',
      ],
    })
  })

  test('an unknown figure is an empty cell in CSV, unlike a known zero', () => {
    const [header = [], ...rows] = csvRows(textAt('/api/v1/rails.csv'))
    const column = header.indexOf('tpv_30d_usdc')
    // The rails are sorted by slug.
    expect(rows.map((row) => [row[0], row[column]])).toEqual([
      ['alpha', '1000'],
      ['beta', ''],
      ['delta', '1000'],
      ['gamma', '0'],
    ])
  })

  test('an unknown figure is null in the history of a rail', () => {
    expect(body('/api/v1/rails/beta/history')).toMatchObject({
      polls: [{ tpv_30d_usdc: null, unique_creators_30d: 3, top_worker_share: null }],
    })
  })
})

describe('figures of a rail', () => {
  const share = 1 / 3
  const income = {
    workerPerDayLowMicroUsdc: 400_000,
    workerPerDayMedianMicroUsdc: 12_000_000,
    workerPerDayHighMicroUsdc: 260_000_000,
  }
  const rails = [
    railRecord('alpha', {
      rule: null,
      state: {
        figuresSource: 'audit',
        figures: figures({ topWorkerShare: share, ...income }),
      },
    }),
    railRecord('beta', { state: { figuresSource: 'audit' } }),
  ]
  const history = new Map([['alpha', [goodPoll(worldNowMs, { topWorkerShare: share, ...income })]]])
  const built = [...documentsOf(smallWorld({ rails, history, openFlags: [] }))]

  test('a figure is the same number in the rail and in its history', () => {
    expect(body('/api/v1/rails/alpha', built)).toMatchObject({ top_worker_share: 0.333333 })
    expect(body('/api/v1/rails/alpha/history', built)).toMatchObject({
      polls: [{ top_worker_share: 0.333333 }],
    })
  })

  test('the income of workers is the same in the rail, its history and its opportunity', () => {
    const quartiles = {
      worker_usd_per_day_low: 0.4,
      worker_usd_per_day_median: 12,
      worker_usd_per_day_high: 260,
    }
    const unknown = Object.keys(quartiles)
    expect(body('/api/v1/rails/alpha', built)).toMatchObject(quartiles)
    expect(body('/api/v1/rails/alpha/history', built)).toMatchObject({ polls: [quartiles] })
    expect(body('/api/v1/opportunities', built)).toMatchObject({
      opportunities: [
        { rail: 'alpha', ...quartiles, unknown_figures: [] },
        { rail: 'beta', worker_usd_per_day_median: 0, unknown_figures: unknown },
      ],
    })
  })

  test('figures from an audit are marked as such, and only polled rails become stale', () => {
    const audit = 'status and figures come from the audit of 2026-10-01.'
    const returned =
      '5 % of the volume came back to its payers, stayed within one party or was passed on; the expected income includes it.'
    expect(body('/api/v1/opportunities', built)).toMatchObject({
      opportunities: [
        {
          rail: 'alpha',
          caveats: [`The rail is audited by hand and not polled; ${audit}`, returned],
        },
        { rail: 'beta', caveats: [`No poll has succeeded yet; ${audit}`, returned] },
      ],
    })
  })

  test('the revision of a history changes with one more poll', () => {
    const revision = (polls: readonly PollRecord[]) => {
      const world = smallWorld({ rails, history: new Map([['alpha', polls]]) })
      const body = historyDocuments()(world)[0]?.body
      return body !== undefined && 'make' in body ? body.revision : null
    }
    const first = goodPoll(worldNowMs - 2)
    const second = goodPoll(worldNowMs - 1)
    expect(revision([first])).toBe(revision([goodPoll(worldNowMs - 2)]))
    const all = [[], [first], [second], [second, first], [failedPoll(worldNowMs - 1), first]]
    expect(new Set(all.map(revision)).size).toBe(all.length)
  })
})

describe('CSV', () => {
  const tables = documents.filter(({ contentType }) => contentType.startsWith('text/csv'))

  test('CSV contains no cell that a spreadsheet would run', () => {
    const cells = tables.flatMap((table) => csvRows(text(table)).flat())
    expect(cells).toContain(`'=HYPERLINK("https://evil.example","Beta")`)
    expect(cells).toContain(`'@host answered HTTP 500`)
    expect(cells.filter((cell) => /^[=+\-@]/.test(cell))).toEqual([])
  })

  test('CSV has as many cells in every row as in its header', () => {
    expect(tables.length).toBe(5)
    for (const table of tables) {
      const rows = csvRows(text(table))
      expect(new Set(rows.map((row) => row.length))).toEqual(new Set([rows[0]?.length]))
    }
  })
})

test('the DID document lists the active key of the service under the DID of its host', () => {
  const keys = z.object({ keys: z.array(z.object({ kid: z.string(), public_key: z.string() })) })
  const [active] = keys.parse(body('/.well-known/signing-keys.json')).keys
  const id = 'did:web:ledger.test'
  expect(body('/.well-known/did.json')).toMatchObject({
    id,
    verificationMethod: [
      {
        id: `${id}#${active?.kid ?? ''}`,
        controller: id,
        publicKeyJwk: {
          kty: 'OKP',
          crv: 'Ed25519',
          x: Buffer.from(active?.public_key ?? '', 'base64').toString('base64url'),
        },
      },
    ],
    assertionMethod: [`${id}#${active?.kid ?? ''}`],
  })
})
