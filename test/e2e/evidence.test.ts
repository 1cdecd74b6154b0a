/** Figures of a recorded world, recomputed from evidence by a second program, and forged evidence, which is found. */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'

import { railAdapters } from '../../builder/rails/index.ts'
import { railHistory } from '../../src/contract/schemas/rail.ts'
import { hourMs } from '../../src/core/time.ts'
import { execute, runCommand } from '../support/command-line.ts'
import type { CommandResult } from '../support/command-line.ts'
import { serveDuringTest } from '../support/local-server.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { newLedger, stop, useProgram, withHooks } from './ledger.ts'
import type { Ledger } from './ledger.ts'
import { firstPollMs, startRecordedSources } from './recorded-sources.ts'
import type { RecordedSources } from './recorded-sources.ts'

allowSlowTests('polls every rail')

const program = useProgram()
let sources: RecordedSources
let ledger: Ledger

beforeAll(async () => {
  sources = await startRecordedSources()
  ledger = newLedger(program, {
    ...sources.env,
    ...withHooks(program, 'test/support/test-clock.ts'),
  })
  await poll(firstPollMs)
})

afterAll(async () => {
  ledger.remove()
  await sources.stop()
})

async function poll(nowMs: number, env: Readonly<Record<string, string>> = {}): Promise<void> {
  const running = ledger.builder(['--once'], { ...env, TEST_CLOCK_MS: String(nowMs) })
  if ((await running.ended) !== 0) throw new Error(running.output())
}

const json = z.record(z.string(), z.json())
type Json = z.infer<typeof json>
const text = (value: unknown): string => z.string().parse(value)
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
const fileOf = (path: string): string => {
  const published = join(ledger.publicDir, 'current', `${path}.json`)
  return readFileSync(existsSync(published) ? published : join(ledger.publicDir, path), 'utf8')
}
const historyOf = (rail: string) =>
  railHistory.parse(JSON.parse(fileOf(`/api/v1/rails/${rail}/history`)))
const bundlePath = (rail: string): string => historyOf(rail).polls[0]?.evidence_uri ?? ''

async function audit(site: string): Promise<CommandResult> {
  return await execute(
    process.execPath,
    [join(import.meta.dirname, '../fixtures/evidence/audit.mjs'), site],
    '/',
  )
}

/** Serves the published files, except that `forged` replaces some of them. */
async function serve(forged: ReadonlyMap<string, string> = new Map()): Promise<string> {
  return await serveDuringTest(({ url = '' }, response) => {
    response.setHeader('Content-Type', 'application/json')
    response.end(forged.get(url) ?? fileOf(url))
  })
}

/** Evidence with right hashes, as an operator could make it: `change` edits the bundle, and `put` adds a document. */
function forge(
  rail: string,
  change: (bundle: Json, put: (body: unknown) => string) => void,
): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  const put = (body: unknown): string => {
    const text = JSON.stringify(body)
    files.set(`/evidence/${sha256(text)}.json`, text)
    return sha256(text)
  }
  const bundle = json.parse(JSON.parse(fileOf(bundlePath(rail))))
  change(bundle, put)
  const history = historyOf(rail)
  const [newest, ...older] = history.polls
  const polls = [{ ...newest, evidence_uri: `/evidence/${put(bundle)}.json` }, ...older]
  files.set(`/api/v1/rails/${rail}/history`, JSON.stringify({ ...history, polls }))
  return files
}

/** Changes the lines of the chunk with the most of them. */
function forgeRows(rail: string, edit: (lines: string[]) => string[]): ReadonlyMap<string, string> {
  return forge(rail, (bundle, put) => {
    const inputs = z.array(json).parse(bundle['inputs'])
    const [most] = inputs.toSorted((a, b) => Number(b['count'] ?? 0) - Number(a['count'] ?? 0))
    if (most === undefined) throw new Error('there are no inputs')
    const lines = edit(
      z.array(z.string()).parse(JSON.parse(fileOf(`/evidence/${text(most['rows'])}.json`))),
    )
    Object.assign(most, {
      rows: put(lines),
      count: lines.length,
      rows_digest: sha256(lines.join('\n')),
    })
    bundle['inputs'] = inputs
  })
}

async function recompute(site: string, ...args: readonly string[]): Promise<CommandResult> {
  return await runCommand(['recompute', ...args, '--site', site], {}, { fetch })
}

const evmRails = {
  x402: 'BASE',
  poidh: 'BASE',
  virtuals_acp: 'BASE',
  erc8004_base: 'BASE',
  poidh_arbitrum: 'ARBITRUM',
  pact: 'ARBITRUM',
  olas: 'GNOSIS',
  erc8004: 'ETHEREUM',
}
const nodeOf = (rail: keyof typeof evmRails): string =>
  sources.env[`RPC_URL_${evmRails[rail]}`] ?? ''

it('a second program recomputes figures of nine rails from evidence that the service answers', async () => {
  const { service, url } = await ledger.start({ BUILDER: 'off', NODE_OPTIONS: '' })
  const { code, out } = await audit(url)
  await stop(service)
  expect(out).toBe('60 figures of 9 rails')
  expect(code).toBe(0)
})

it.each(railAdapters.map(({ rail }) => rail))(
  'recompute reproduces the published history of %s',
  async (rail) => {
    const { code, out, err } = await recompute(await serve(), rail)
    expect(`${out}${err}`).toMatch(/good {2}history: \d+ lines are the same/)
    expect(code).toBe(0)
  },
)

it.each(['x402', 'poidh', 'virtuals_acp', 'erc8004_base', 'pact', 'olas'] as const)(
  'recompute reads the logs of %s again from a node and finds the published ones',
  async (rail) => {
    const { code, out, err } = await recompute(await serve(), rail, '--rpc', nodeOf(rail))
    expect(`${out}${err}`).toMatch(/good {2}logs of the blocks \d+ to \d+: [1-9]\d* lines/)
    expect(code).toBe(0)
  },
)

const forgeries = {
  'a changed row': (lines: string[]) => [
    lines[0]?.replace(/,\d+,$/, ',7,') ?? '',
    ...lines.slice(1),
  ],
  'a row that was left out': (lines: string[]) => lines.slice(1),
  'an invented row': (lines: string[]) =>
    [lines[0]?.replace(/^\d+,\d+/, '5,5') ?? '', ...lines].toSorted(),
}
it.each(Object.entries(forgeries))('recompute finds %s and names the line', async (_name, edit) => {
  let [before, after]: [string[], string[]] = [[], []]
  const forged = forgeRows('poidh', (lines) => {
    before = lines
    after = edit(lines)
    return after
  })
  const site = await serve(forged)
  const { code, out } = await recompute(site, 'poidh', '--rpc', nodeOf('poidh'))
  const at = [...before, ...after].findIndex((_, index) => before[index] !== after[index])
  expect(out).toContain(
    `published ${after[at] ?? 'nothing'}, recomputed ${before[at] ?? 'nothing'}`,
  )
  expect(code).toBe(1)
  const audited = await audit(site)
  expect(audited.out).toMatch(/^poidh: the rows of 0x\w+ 0x\w+ differ from the aggregates by -?\d+/)
  expect(audited.code).toBe(1)
})

it('recompute finds an invented answer and names the figure', async () => {
  const forged = forge('superteam_earn', (bundle, put) => {
    const rows = fileOf(`/evidence/${text(bundle['buckets'])}.json`)
    bundle['buckets'] = put(JSON.parse(rows.replace(/"amount":(\d+)/, '"amount":9$1')))
  })
  const site = await serve(forged)
  const { code, out } = await recompute(site, 'superteam_earn')
  expect(out).toMatch(/BAD {3}evidence: published "tpv\w+": \d+,?, recomputed "tpv\w+": \d+/)
  expect(code).toBe(1)
  expect((await audit(site)).out).toMatch(
    /^superteam_earn tpv_30d_\w+: published \S+, recomputed \S+$/m,
  )
})

it('recompute finds changed bytes and names the file', async () => {
  const path = bundlePath('poidh')
  const site = await serve(new Map([[path, fileOf(path).replace('"v":1', '"v":2')]]))
  const { code, err } = await recompute(site, 'poidh')
  expect(err).toContain(`${path} has the SHA-256`)
  expect(code).toBe(1)
})

it('a failed poll has evidence: what was read, from which host, and the error', async () => {
  const before = bundlePath('smithery')
  sources.setMode('smithery', 'html')
  await sources.claim(firstPollMs + hourMs / 2)
  await sources.settle(firstPollMs + hourMs)
  await poll(firstPollMs + hourMs)
  const [failed] = historyOf('smithery').polls
  expect(json.parse(JSON.parse(fileOf(failed?.evidence_uri ?? '')))).toMatchObject({
    outcome: 'failed',
    error: failed?.poll_error,
    previous: /[0-9a-f]{64}/.exec(before)?.[0],
    buckets: null,
    figures: null,
  })
  const { code, out } = await recompute(await serve(), 'smithery', '--at', failed?.polled_at ?? '')
  expect(out).toContain('BAD   evidence: nothing was checked')
  expect(code).toBe(1)
  const again = await recompute(await serve(), 'poidh', '--rpc', nodeOf('poidh'))
  expect(again.out).toMatch(/good {2}logs of the blocks \d+ to \d+: 1 lines/)
  expect((await recompute(await serve(), 'pact', '--rpc', nodeOf('pact'))).code).toBe(0)
  const inputs = z.array(json).parse(json.parse(JSON.parse(fileOf(bundlePath('near'))))['inputs'])
  expect(inputs[0]).toMatchObject({
    overridden: true,
    read_from: new URL(sources.env['RAIL_BASE_URL_NEAR'] ?? '').host,
  })
})

it('the archive links evidence that exists, and the second poll adds only what is new', async () => {
  const names = readdirSync(join(ledger.publicDir, 'evidence'))
  for (const { rail } of railAdapters) {
    const archived = json.parse(JSON.parse(ledger.git('show', `HEAD:api/v1/rails/${rail}.json`)))
    expect(names).toContain(text(archived['evidence_uri']).slice('/evidence/'.length))
  }
  expect(names.filter((name) => !/^[0-9a-f]{64}\.json$/.test(name))).toEqual([])
  const stored = await ledger.withDatabase(
    async ({ reader }) => await reader.selectFrom('evidence').select('sha256').execute(),
  )
  expect(names.toSorted()).toEqual(stored.map((row) => `${row.sha256}.json`).toSorted())
})

it('aggregates of a later poll are the earlier ones and the rows that were read since', async () => {
  await sources.settle(firstPollMs + 6 * hourMs)
  await poll(firstPollMs + 6 * hourMs)
  const honest = await serve()
  expect((await recompute(honest, 'poidh')).out).toMatch(/good {2}aggregates: \d+ lines/)
  expect((await audit(honest)).code).toBe(0)
  for (const [payment, changed, says] of [
    [/(0x\w{40}",1,")(\d+)/, '$19$2', /: 9\d+ for \d+, recomputed 0x\w+ 0x\w+: \d+/],
    [/(0x\w{40}",1,"\d+",)(\d+)/, '$19$2', /: \d+ for 9\d+, recomputed 0x\w+ 0x\w+: \d+/],
  ] as const) {
    const forged = forge('poidh', (bundle, put) => {
      expect(bundle['previous']).not.toBeNull()
      const rows = fileOf(`/evidence/${text(bundle['buckets'])}.json`)
      bundle['buckets'] = put(JSON.parse(rows.replace(payment, changed)))
    })
    const site = await serve(forged)
    const { code, out } = await recompute(site, 'poidh')
    expect(out).toMatch(/BAD {3}aggregates: published 0x\w+ 0x\w+/)
    expect(out).toMatch(says)
    expect(code).toBe(1)
    expect((await audit(site)).out).toMatch(/^poidh(?:: the rows of 0x\w+ 0x\w+ differ| tpv)/m)
  }
})

it.each([
  ['evidence of another poll', { at: '2026-01-01T00:00:00.000Z' }, /BAD {3}poll: published /],
  [
    'figures without aggregates',
    { buckets: null },
    /BAD {3}evidence: the poll has figures but no evidence/,
  ],
])('recompute refuses %s', async (_name, change, says) => {
  const forged = forge('poidh', (bundle) => void Object.assign(bundle, change))
  const { code, out } = await recompute(await serve(forged), 'poidh')
  expect(out).toMatch(says)
  expect(code).toBe(1)
})

it.each([
  ['reproduces figures without the income of workers, as in older bundles', {}, 0],
  ['finds an invented income of workers', { workerPerDayMedianMicroUsdc: 12_000_000 }, 1],
])('recompute %s', async (_name, income, expected) => {
  const forged = forge('poidh', (bundle) => {
    const figures = Object.entries(json.parse(bundle['figures']))
    const older = figures.filter(([name]) => !name.startsWith('workerPerDay'))
    expect(older).toHaveLength(figures.length - 3)
    bundle['figures'] = { ...Object.fromEntries(older), ...income }
  })
  const { code, out } = await recompute(await serve(forged), 'poidh')
  expect(out).toContain(
    expected === 0 ? 'good  evidence' : 'published "workerPerDayMedianMicroUsdc": 12000000',
  )
  expect(code).toBe(expected)
})

it('recompute refuses a malformed digest', async () => {
  const forged = forge('poidh', (bundle) => {
    const [first, ...others] = z.array(json).parse(bundle['inputs'])
    bundle['inputs'] = [{ ...first, url: 'u', rows_digest: 'none' }, ...others]
  })
  const { code, err } = await recompute(await serve(forged), 'poidh')
  expect(err).toContain('is malformed at inputs.0')
  expect(code).toBe(1)
})
