import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { beforeEach, expect, test } from 'vitest'

import { loadAuthoredRails } from '../../../builder/world/authored-rails.ts'
import { tempFolder } from '../../db/temp-database.ts'

const olasFile = fileURLToPath(new URL('../../../data/rails/olas.json', import.meta.url))
let dir = ''

beforeEach(() => {
  dir = tempFolder()
})

async function olas(changes: Record<string, unknown> = {}): Promise<string> {
  const rail: unknown = JSON.parse(await readFile(olasFile, 'utf8'))
  return JSON.stringify(Object.assign({}, rail, changes))
}

test('authored rails are sorted by slug, and other files are ignored', async () => {
  await writeFile(join(dir, 'zeta.json'), await olas({ rail: 'zeta' }))
  await writeFile(join(dir, 'alpha.json'), await olas({ rail: 'alpha' }))
  await writeFile(join(dir, 'README.md'), 'not a rail')
  const rails = await loadAuthoredRails(dir)
  expect(rails.map((rail) => rail.rail)).toEqual(['alpha', 'zeta'])
})

test('an authored rail whose file name is not its slug is refused with the file name', async () => {
  await writeFile(join(dir, 'other.json'), await olas())
  await expect(loadAuthoredRails(dir)).rejects.toThrow(/other\.json: rail: is "olas"/)
})

const taken = (value: number, changes: Record<string, unknown> = {}) => {
  const source = 'https://a.example/counts.csv'
  const counted = { counted_by: 'A counter', method: 'All logs.' }
  return { value, from: '2026-03-26', to: '2026-04-24', source, ...counted, ...changes }
}
const claim = {
  figure: 'Volume',
  value: 900,
  unit: 'USD',
  from: null,
  to: '2026-04-24',
  counted_by: 'a counter',
  source: 'https://a.example/',
  method: 'Counted.',
  kind: 'operator',
  covers: 'mixed',
  confidence: 'high',
}
const audit = (figures: Record<string, unknown>, claims: readonly unknown[] = [claim]) => {
  const source = 'https://a.example'
  return { as_of: '2026-04-24', status: 'pre-traction', reason: 'r', source, figures, claims }
}

test('a claim gives an audit no status, and five creators of one week are enough for the rules', async () => {
  await writeFile(join(dir, 'olas.json'), await olas({ audit: audit({}) }))
  await expect(loadAuthoredRails(dir)).resolves.toHaveLength(1)
  const week = { from: '2026-04-18' }
  const figures = { tpv_30d_usdc: taken(4500), unique_creators_30d: taken(5, week) }
  const paying = { ...audit(figures), status: 'paying' }
  await writeFile(join(dir, 'olas.json'), await olas({ audit: paying }))
  await expect(loadAuthoredRails(dir)).resolves.toHaveLength(1)
})

test.each([
  [
    'an audited figure of a week',
    { audit: audit({ tpv_30d_usdc: taken(0, { from: '2026-04-18' }) }) },
    /olas\.json: audit\.figures\.tpv_30d_usdc: must cover 28 to 30 days/,
  ],
  [
    'four creators of a week, who may be more in 30 days',
    { audit: audit({ unique_creators_30d: taken(4, { from: '2026-04-18' }) }) },
    /olas\.json: audit\.figures\.unique_creators_30d: must cover 28 to 30 days/,
  ],
  [
    'an audit that is dated later than its figures',
    { audit: { ...audit({ payouts_30d: taken(3) }), as_of: '2026-05-01' } },
    /olas\.json: audit\.as_of: is not the last day of the figures: 2026-04-24/,
  ],
  [
    'a claim without an address',
    { audit: audit({}, [{ ...claim, source: 'http://a.example/' }]) },
    /olas\.json: audit\.claims\.0\.source: must be an https URL/,
  ],
  [
    'a claim of an unknown kind',
    { audit: audit({}, [{ ...claim, kind: 'rumour' }]) },
    /olas\.json: audit\.claims\.0\.kind/,
  ],
  [
    'an unknown status',
    { audit: { as_of: '2026-04-24', status: 'great', reason: 'r', source: 's', figures: {} } },
    /olas\.json: audit\.status/,
  ],
  [
    'a link without TLS',
    { reference_url: 'http://olas.network' },
    /olas\.json: reference_url: must be an https URL/,
  ],
  ['a chain nobody knows', { chain: 'atlantis' }, /olas\.json: chain/],
  ['a field that the shape does not have', { tpv: 1 }, /olas\.json: \(whole file\): .*tpv/],
  [
    'a methodology too short to be one',
    { methodology: 'We look at it.' },
    /olas\.json: methodology/,
  ],
  [
    'a source without an address or a reason',
    { sources: ['an earlier reading'] },
    /olas\.json: sources\.0: must be an https URL/,
  ],
  [
    'an audit that calls a rail dormant and saw no figure',
    {
      audit: {
        as_of: '2026-04-24',
        status: 'dormant',
        reason: 'r',
        source: 'https://a.example',
        figures: {},
      },
    },
    /olas\.json: audit\.status: is not what the rules say of the audited figures: pre-traction/,
  ],
  [
    'an audit that calls a rail paying and saw one creator',
    {
      audit: {
        as_of: '2026-04-24',
        status: 'paying',
        reason: 'r',
        source: 'https://a.example',
        figures: { tpv_30d_usdc: taken(4500), unique_creators_30d: taken(1) },
      },
    },
    /olas\.json: audit\.status: is not what the rules say of the audited figures: potemkin/,
  ],
  ['a negative entry cost', { entry_cost_usdc: -1 }, /olas\.json: entry_cost_usdc/],
])('a rail with %s is refused with file and field', async (_name, changes, message) => {
  await writeFile(join(dir, 'olas.json'), await olas(changes))
  await expect(loadAuthoredRails(dir)).rejects.toThrow(message)
})

test('an incomplete file of an authored rail is refused with the file name', async () => {
  await writeFile(join(dir, 'olas.json'), '{"rail": "olas"')
  await expect(loadAuthoredRails(dir)).rejects.toThrow(/olas\.json: not JSON/)
})
