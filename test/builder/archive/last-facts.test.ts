import { gzipSync } from 'node:zlib'

import { expect, test } from 'vitest'

import { commitMessage } from '../../../builder/archive/change-text.ts'
import { changesBetween } from '../../../builder/archive/changes.ts'
import type { Facts } from '../../../builder/archive/facts.ts'
import {
  createLastFacts,
  diffDocument,
  factsOf,
  nextFacts,
} from '../../../builder/archive/last-facts.ts'
import { sha256Hex } from '../../../src/auth/messages.ts'
import type { JsonObject, JsonValue } from '../../../src/core/canonical-json.ts'
import { factsKey } from '../../../src/core/documents.ts'
import { jsonDocument, useWorkspace } from '../publish/set.ts'

const place = useWorkspace()

const olas: JsonObject = {
  rail: 'olas',
  status: 'paying',
  status_since: '2026-11-01T00:00:00.000Z',
  tpv_30d_usdc: 1200.5,
  tpv_7d_usdc: 0,
  unknown_figures: ['tpv_7d_usdc'],
  top_worker_share: 0.5,
  notes: 'as it was',
}
const rail = (slug: string, more: JsonObject = {}): JsonObject => ({ ...olas, rail: slug, ...more })

function facts(rails: readonly JsonObject[], more: Record<string, JsonValue> = {}): Facts {
  return { '/api/v1/rails': { count: rails.length, rails }, ...more }
}

const flag = (id: string, more: JsonObject = {}): JsonObject => ({
  id,
  rail: 'olas',
  kind: 'concentrated',
  title: `${id} [x](javascript:1) <img>|`,
  opened_at: '2026-11-21T06:00:00.000Z',
  ...more,
})
const flags = (...list: JsonObject[]) => ({
  '/api/v1/honesty/flags': { count: list.length, flags: list },
})

const before = nextFacts(null, facts([rail('a'), rail('b'), rail('c'), olas], flags(flag('f0'))))
const moved = facts(
  [
    rail('a', { poll_error: 'timed out after 10 s' }),
    rail('b', { poll_error: 'HTTP 500\nforged: line' }),
    rail('c', { poll_error: 'HTML instead of JSON' }),
    {
      ...olas,
      status: 'concentrated',
      status_since: '2026-11-21T06:00:00.000Z',
      tpv_30d_usdc: 2400,
      tpv_7d_usdc: 100.25,
      unknown_figures: [],
      top_worker_share: 0.9512,
      notes: 'new',
    },
  ],
  flags(flag('f0', { closed_at: '2026-11-21T06:00:00.000Z' }), flag('f1'), flag('f2')),
)

test('a commit message summarises the changes', () => {
  expect(nextFacts(before, moved).message).toBe(
    'rails: olas paying → concentrated; 3 polls failed; 2 flags opened; 1 flag closed; 1 rail with new figures',
  )
})

test('the diff shows old and new figures with units, and unknown ones as unknown', () => {
  const { diff } = nextFacts(before, moved)
  expect(diff).toContain('| `olas` | volume, 30 days | 1200.5 USDC | 2400 USDC |')
  expect(diff).toContain('| `olas` | volume, 7 days | unknown | 100.25 USDC |')
  expect(diff).toContain('| `olas` | share of the top worker | 50 % | 95.12 % |')
  expect(diff).toContain('- `olas` went from **paying** to **concentrated**.')
  expect(diff).toContain('- `olas` has a new `notes`.')
  expect(diff).toContain('- `b` could not be polled: HTTP 500 forged: line')
  expect(diff).toContain('- Closed: `concentrated` on `olas`: f0 ')
})

test('the diff escapes text from outside', () => {
  const { diff } = nextFacts(before, moved)
  expect(diff).toContain(String.raw`f1 \[x\]\(javascript:1\) \<img\>\|`)
  expect(diff).not.toMatch(/^forged/m)
})

test('a build without changes keeps the diff and the message of the last change', () => {
  const last = nextFacts(before, moved)
  expect(nextFacts(last, moved)).toBe(last)
  expect(nextFacts(before, moved)).toEqual(last)
})

test('a repeated poll failure is not a change, a recovery is', () => {
  const failing = facts([rail('a', { poll_error: 'timed out' })])
  expect(changesBetween(failing, failing)).toEqual([])
  expect(changesBetween(failing, facts([rail('a')]))).toContainEqual(
    expect.objectContaining({ kind: 'poll recovered' }),
  )
})

test('a flag that is no longer listed counts as closed', () => {
  expect(changesBetween(facts([], flags(flag('f0'))), facts([], flags()))).toContainEqual(
    expect.objectContaining({ kind: 'flag closed' }),
  )
})

test('new rails, pacts, receipts and articles are named', () => {
  const now = facts([olas, rail('new')], {
    '/api/v1/pacts': {
      settled: [{ pact_id: '3', title: 'Settled work' }],
      in_flight: [{ pact_id: '4', title: 'Open work' }],
    },
    '/api/v1/receipts': {
      receipts: [
        { receipt_id: 'rcp_1', onchain_verified: true },
        { receipt_id: 'rcp_2', onchain_verified: false },
      ],
    },
    '/desk/feed.json': { articles: [{ slug: 'week-47', title: 'Week 47' }] },
  })
  const { message, diff } = nextFacts(nextFacts(null, facts([olas])), now)
  expect(message).toBe(
    'rails: 1 rail added; 1 pact settled; 1 pact opened; 2 receipts accepted; 1 receipt verified; 1 article published',
  )
  expect(diff).toContain('- Pact 3 settled: Settled work')
  expect(diff).toContain('- added: `/desk/feed.json`')
})

test('the first build states that there was none before', () => {
  expect(before.message).toBe('ledger: first build, 4 rails in 2 documents')
  expect(before.diff).toContain('There is no earlier build to compare with')
})

test('a change of other documents alone is counted', () => {
  const old = facts([], { '/api/v1/oaths': { oaths: [] }, '/a': 1 })
  const { message } = nextFacts(
    nextFacts(null, old),
    facts([], { '/api/v1/oaths': { oaths: ['x'] } }),
  )
  expect(message).toBe('documents: 2 documents changed')
})

test('no message is longer than 120 characters', () => {
  const long = 'r'.repeat(64)
  for (let count = 0; count < 6; count += 1) {
    const railsIn = (status: string) =>
      Array.from({ length: count }, (_, index) => rail(`${long}${index}`, { status }))
    const paying = facts([...railsIn('pre-traction'), olas])
    const concentrated = facts([...railsIn('concentrated')], flags(flag('f0')))
    const changes = changesBetween(paying, concentrated)
    const message = commitMessage(changes, { first: false })
    expect(message.length).toBeLessThanOrEqual(120)
    expect(message.length).toBeGreaterThan(10)
  }
})

test('facts are stored with the publication, and count as none if they cannot be read', async () => {
  const last = nextFacts(before, moved)
  const first = createLastFacts()
  const { reader } = place.database
  const store = place.startStore()
  expect(await first.load(store, reader)).toBeNull()
  await place.publish([jsonDocument('/a', {})], { facts: first.stored(last) })
  expect(await createLastFacts().load(store, reader)).toEqual(last)
  const [key = ''] = (await store.list('facts/')).keys()
  await store.put(key, Buffer.from('{"facts"'), {})
  expect(await createLastFacts().load(store, reader)).toBeNull()
})

test('facts that decompress to more than 64 MiB are not read', async () => {
  const bytes = gzipSync(JSON.stringify({ diff: 'd'.repeat(65 * 2 ** 20), message: '' }), {
    level: 1,
  })
  const { reader } = place.database
  const store = place.startStore()
  await store.put(factsKey(sha256Hex(bytes)), bytes, {})
  expect(await createLastFacts().load(store, reader)).toBeNull()
})

test('only archived documents have facts, and the diff is archived without being one', () => {
  const documents = [
    { ...jsonDocument('/a', { n: 1, polled_at: 'now' }), archive: { n: 1 } },
    { ...jsonDocument('/b', {}), archive: null },
  ]
  expect(factsOf(documents)).toEqual({ '/a': { n: 1 } })
  expect(diffDocument(before, 60)).toMatchObject({ path: '/diffs/latest.md', archive: before.diff })
})
