/** The documents and pages of a ledger that has read nothing yet, with the audits of the repository. */
import { fileURLToPath } from 'node:url'

import { describe, expect, test } from 'vitest'

import type { PublicDocument } from '../../../builder/publish/document.ts'
import { railAdapters } from '../../../builder/rails/index.ts'
import { loadAuthoredRails } from '../../../builder/world/authored-rails.ts'
import type { AuthoredRail } from '../../../builder/world/authored-rails.ts'
import { stateOf } from '../../../builder/world/stored-rails.ts'
import type { World } from '../../../builder/world/world.ts'
import { dayMs } from '../../../src/core/time.ts'
import { fullWorld } from '../../site/worlds.ts'
import { documentsOf, siteOf, textAt } from '../../support/site.ts'
import { railRecord } from '../../support/world.ts'

const authored = await loadAuthoredRails(
  fileURLToPath(new URL('../../../data/rails/', import.meta.url)),
)
const countedMs = Date.parse('2026-09-27T00:00:00.000Z')

function firstStart(nowMs: number, audits: readonly AuthoredRail[] = authored): World {
  const rails = audits.map((rail) => ({
    authored: rail,
    state: stateOf(rail, undefined),
    rule: railAdapters.find((adapter) => adapter.rail === rail.rail)?.rule ?? null,
    evidence: [],
    backfill: null,
  }))
  const skills: World['taxonomy']['skills'] = []
  return fullWorld('https://ledger.test', {
    nowMs,
    rails,
    history: new Map(),
    openFlags: [],
    taxonomy: { note: 'None.', skills },
  })
}

const recent = firstStart(countedMs + 60 * dayMs)
const old = firstStart(countedMs + 90 * dayMs + 1)
const stamp = '2026-11-26T00:00:00.000Z'
const built = new Map<World, readonly PublicDocument[]>()

function publishedBy(world: World): readonly PublicDocument[] {
  const known = built.get(world) ?? [...documentsOf(world), ...siteOf(world)]
  built.set(world, known)
  return known
}

const page = (world: World, path: string) => textAt(path, publishedBy(world), stamp)
const json = (world: World, path: string): unknown => JSON.parse(page(world, path))

describe('a ledger that has read no rail', () => {
  test('names its counts as unknown, though others counted a paying rail less than 90 days ago', () => {
    expect(json(recent, '/api/v1/stats/live')).toMatchObject({
      rails_paying: 1,
      opportunities: 1,
      tpv_30d_usdc: 0,
      unknown_figures: ['tpv_30d_usdc', 'tpv_7d_usdc', 'rails_paying', 'opportunities'],
    })
    expect(json(recent, '/api/v1/opportunities')).toMatchObject({
      count: 1,
      unknown_figures: ['count'],
      opportunities: [{ rail: 'x402', tpv_30d_usdc: 201656.22 }],
    })
    expect(page(recent, '/index.md')).toMatch(/^# 1 rail was paying when others last counted$/m)
  })

  test('names the number of paying rails as unknown once the audit is older than 90 days', () => {
    expect(json(old, '/api/v1/stats/live')).toMatchObject({
      rails_paying: 0,
      opportunities: 0,
      unknown_figures: ['tpv_30d_usdc', 'tpv_7d_usdc', 'rails_paying', 'opportunities'],
    })
    expect(json(old, '/api/v1/opportunities')).toMatchObject({
      count: 0,
      unknown_figures: ['count'],
    })
    expect(page(old, '/index.md')).toMatch(/^# No rail has been read yet$/m)
    expect(page(old, '/index.md')).toMatch(/^\d+ rails: \d+ not judged\.$/m)
    expect(page(old, '/index.md')).toContain('What customers paid in 30 days: unknown')
    expect(page(old, '/opportunities.md')).toContain('No reading has shown yet which rails pay.')
    expect(page(old, '/rails/x402.md')).toContain('was paying on 2026-09-27')
  })

  test('names no zero after a reading that decides nothing, beside audits that are too old', () => {
    const unread = railRecord('unread', { state: { figuresSource: 'poll', undecidedSinceMs: 1 } })
    const state = { ...unread.state, status: 'pre-traction' as const }
    const world = { ...old, rails: [...old.rails, { ...unread, state }] }
    expect(page(world, '/index.md')).toMatch(/^# No rail has been judged yet$/m)
    expect(json(world, '/api/v1/stats/live')).toMatchObject({
      unknown_figures: ['tpv_30d_usdc', 'tpv_7d_usdc', 'rails_paying', 'opportunities'],
    })
    expect(json(world, '/api/v1/opportunities')).toMatchObject({ unknown_figures: ['count'] })
  })

  test('names no zero if others recently counted nothing on a few rails', () => {
    const rails = old.rails.filter(({ authored: { rail } }) => rail !== 'x402')
    const world = { ...old, nowMs: Date.parse('2026-09-01T00:00:00.000Z'), rails }
    expect(page(world, '/index.md')).toMatch(/^# No rail has been read yet$/m)
    expect(page(world, '/index.md')).toMatch(
      /^\d+ rails: 3 dormant by the count of others, \d+ not judged\.$/m,
    )
  })

  test('says how many rails have been read, and shows no figures of the others in ink', () => {
    expect(page(recent, '/index.md')).toMatch(
      /How recent\?\*\* 0 of \d+ polled rails have been read\./,
    )
    expect(page(recent, '/rails/agenton.md')).toContain('No figure of this rail is known.')
  })

  test('says of a rail without figures that it is not judged', () => {
    expect(json(recent, '/api/v1/rails/agenton')).toMatchObject({
      status: 'pre-traction',
      judged: false,
      audit: { figures: {}, claims: [] },
    })
    expect(page(recent, '/rails/agenton.md')).toContain('not judged')
    expect(page(recent, '/rails/agenton.md')).not.toContain('pre-traction according')
    expect(page(recent, '/rails/agenton')).not.toContain('data-of="status"')
  })

  test('calls a rail dormant for 90 days after a full reading by others was zero', () => {
    const soon = firstStart(Date.parse('2026-09-01T00:00:00.000Z'))
    for (const rail of ['claw', 'dealwork', 'opentask']) {
      const audited = json(soon, `/api/v1/rails/${rail}`)
      expect(audited).toMatchObject({ status: 'dormant', judged: true })
      expect(audited).toMatchObject({ audit: { figures: { payouts_30d: { value: 0 } } } })
      expect(json(recent, `/api/v1/rails/${rail}`)).toMatchObject({ judged: false })
      expect(page(recent, `/rails/${rail}.md`)).toMatch(/was dormant on 2026-08-/)
    }
  })

  test('publishes the payers of one week as unknown payers of 30 days', () => {
    expect(json(recent, '/api/v1/rails/x402')).toMatchObject({
      status: 'paying',
      unique_creators_30d: 0,
      unknown_figures: expect.arrayContaining(['unique_creators_30d']) as unknown,
    })
  })
})

describe('claims of others', () => {
  test('claims change no figure, status, count or total', () => {
    const without = firstStart(
      recent.nowMs,
      authored.map((rail) => {
        const { claims: _, ...audit } = rail.audit
        return { ...rail, audit }
      }),
    )
    for (const path of ['stats/live', 'opportunities', 'honesty/flags', 'rails.csv']) {
      expect(page(without, `/api/v1/${path}`), path).toBe(page(recent, `/api/v1/${path}`))
    }
    for (const { rail } of authored) {
      const shown = json(recent, `/api/v1/rails/${rail}`)
      const plain = json(without, `/api/v1/rails/${rail}`)
      expect(withoutClaims(plain), rail).toEqual(withoutClaims(shown))
    }
  })

  test('the page of a rail states value, window, counter, day and kind of each claim', () => {
    expect(page(recent, '/rails/frantic.md')).toMatch(
      /\| Growth of the board counter \| 271 USD, 30 days \(stated by the operator\) \| Stated by the operator; .* \| \[Frantic\]\(.*\) \(to 2026-08-22\) \|/,
    )
    const market = page(recent, '/rails/execution_market.md')
    expect(market).toContain('Rewards of completed tasks | 2.11 USD, 7 days (at least)')
    expect(market).toContain('Volume counter of the platform | 319.99 USD (at most)')
    expect(page(recent, '/rails/x402.md')).toMatch(
      /\| Volume \| 201,656\.22 USDC, 28 days \(counted by others\) \| .*Sum of four weekly rows.* \| \[wknipe-site\]\(.*\) \(to 2026-09-27\) \|/,
    )
  })
})

function withoutClaims(rail: unknown): unknown {
  return JSON.parse(JSON.stringify(rail, (key, value: unknown) => (key === 'claims' ? [] : value)))
}
