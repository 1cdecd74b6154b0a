import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

import { describe, expect, test } from 'vitest'

import { railAdapters } from '../../builder/rails/index.ts'
import { authoredRailSchema, loadAuthoredRails } from '../../builder/world/authored-rails.ts'
import { withSiteUrl } from '../../src/core/site-url.ts'

const dataDir = fileURLToPath(new URL('../../data/rails/', import.meta.url))
const newestAuditDay = '2026-11-21'
const names = await readdir(dataDir)
const rails = await loadAuthoredRails(dataDir)

function repeated(values: readonly string[]): readonly string[] {
  return values.filter((value, index) => values.indexOf(value) !== index)
}

describe('the authored rails', () => {
  test('at least 45 rails are authored, sorted by slug', () => {
    expect(rails.map((rail) => `${rail.rail}.json`)).toEqual(names.toSorted())
    expect(rails.length).toBeGreaterThanOrEqual(45)
  })

  test('authored rails have unique display names and methodologies', () => {
    expect(repeated(rails.map((rail) => rail.display_name.toLowerCase()))).toEqual([])
    expect(repeated(rails.map((rail) => rail.methodology))).toEqual([])
  })

  test('every rail with an adapter is authored', () => {
    const slugs = rails.map((rail) => rail.rail)
    expect(railAdapters.filter(({ rail }) => !slugs.includes(rail))).toEqual([])
  })
})

describe.each(rails)('$rail', (rail) => {
  test(`${rail.rail} has its keys in the order of the schema, indented by two spaces`, async () => {
    const source = await readFile(`${dataDir}${rail.rail}.json`, 'utf8')
    const raw = authoredRailSchema.parse(JSON.parse(source))
    expect(source).toBe(`${JSON.stringify(raw, null, 2)}\n`)
  })

  test(`${rail.rail} describes its methodology in a few sentences`, () => {
    expect(rail.methodology.length).toBeGreaterThanOrEqual(80)
    const sentences = rail.methodology.split(/[.!?](?: |$)/).filter((part) => part !== '')
    expect(sentences.length).toBeGreaterThanOrEqual(2)
    expect(sentences.length).toBeLessThanOrEqual(12)
  })

  test(`${rail.rail} says that it is not polled if it has no adapter, and only then`, () => {
    const isPolled = railAdapters.some((adapter) => adapter.rail === rail.rail)
    const says = rail.methodology.startsWith('This rail is audited manually and not polled.')
    expect(says).toBe(!isPolled)
  })

  test(`${rail.rail} links only to https pages`, () => {
    const reference = withSiteUrl(rail.reference_url, 'https://ledger.test')
    for (const link of [reference, rail.sample_apply_url ?? reference]) {
      expect(new URL(link).protocol).toBe('https:')
    }
  })

  test(`${rail.rail} has an audit date in the past`, () => {
    expect(rail.audit.as_of >= '2020-01-01' && rail.audit.as_of <= newestAuditDay).toBe(true)
  })

  test(`${rail.rail} has possible audit figures`, () => {
    const { tpv_30d_usdc: volume, tpv_30d_raw_usdc: raw } = rail.audit.figures
    expect(volume?.value ?? 0).toBeLessThanOrEqual(raw?.value ?? Infinity)
  })

  test(`${rail.rail} has a status by payments, or explains why by activity`, () => {
    if (rail.category === 'earning') {
      expect(rail.status_basis).toBe('payments')
    } else {
      expect(rail.status_basis).toBe('activity')
      expect(rail.methodology).toContain('activity instead of payments')
    }
  })
})
