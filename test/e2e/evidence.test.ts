/** Figures of a recorded world, recomputed from evidence by a second program, and forged evidence, which is found. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, it } from 'vitest'
import { z } from 'zod'

import { railAdapters } from '../../builder/rails/index.ts'
import { hourMs } from '../../src/core/time.ts'
import { execute } from '../support/command-line.ts'
import type { CommandResult } from '../support/command-line.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { createForger, json, problemsIn, recompute, text } from './forged-evidence.ts'
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

const forger = createForger(() => ledger)
const { fileOf, historyOf, bundlePath, forge, serve } = forger

async function audit(site: string): Promise<CommandResult> {
  return await execute(
    process.execPath,
    [join(import.meta.dirname, '../fixtures/evidence/audit.mjs'), site],
    '/',
  )
}

/** The node of the chain of a rail; nobody reads Solana again. */
const chainOptions = (rail: string): readonly string[] => {
  const chain = railAdapters.find((one) => one.rail === rail)?.chains[0]
  if (chain === undefined) return []
  if (chain === 'solana') return []
  return ['--rpc', sources.env[`RPC_URL_${chain.toUpperCase()}`] ?? '']
}

/** What nobody can check yet. */
function openOf(rail: string): string {
  if (rail === 'x402_solana')
    return 'open  chain: the lines are not compared with the chain: Solana is not read again'
  return ''
}

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
    const { code, out, err } = await recompute(await serve(), rail, ...chainOptions(rail))
    expect(`${err}${problemsIn(out)}`).toBe(openOf(rail))
    expect(out).toMatch(/good {2}history: \d+ lines are the same/)
    expect(code).toBe(openOf(rail) === '' ? 0 : 1)
  },
)

it.each(['x402', 'poidh', 'virtuals_acp', 'erc8004_base', 'pact', 'olas'] as const)(
  'recompute reads the logs of %s again from a node and finds the published ones',
  async (rail) => {
    const { code, out, err } = await recompute(await serve(), rail, ...chainOptions(rail))
    expect(`${out}${err}`).toMatch(/good {2}logs of the blocks \d+ to \d+: [1-9]\d* lines/)
    expect(problemsIn(out)).toBe(openOf(rail))
    expect(code).toBe(openOf(rail) === '' ? 0 : 1)
  },
)

it('recompute finds changed bytes and names the file', async () => {
  const path = bundlePath('poidh')
  const site = await serve(new Map([[path, fileOf(path).replace('"v":2', '"v":3')]]))
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
  expect(problemsIn((await recompute(await serve(), 'smithery')).out)).toBe('')
  const again = await recompute(await serve(), 'poidh', ...chainOptions('poidh'))
  expect(again.out).toMatch(/good {2}logs of the blocks \d+ to \d+: 1 lines/)
  expect((await recompute(await serve(), 'pact', ...chainOptions('pact'))).code).toBe(0)
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
  const { out } = await recompute(honest, 'poidh', ...chainOptions('poidh'))
  expect(problemsIn(out)).toBe('')
  expect(out).toMatch(/good {2}lines: \d+ lines of 3 readings have the right amounts/)
  expect((await audit(honest)).code).toBe(0)
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

it('recompute finds an invented income of workers', async () => {
  const forged = forge('poidh', (bundle) => {
    const figures = json.parse(bundle['figures'])
    bundle['figures'] = { ...figures, workerPerDayMedianMicroUsdc: 12_000_000 }
  })
  const { code, out } = await recompute(await serve(forged), 'poidh')
  expect(out).toContain('published "workerPerDayMedianMicroUsdc": 12000000')
  expect(code).toBe(1)
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
