/** Runs the compiled builder on recorded sources and compares figures computed by hand. Each test continues the previous one. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'

import { railAdapters } from '../../builder/rails/index.ts'
import { flagList } from '../../src/contract/schemas/flag.ts'
import { rail as railShape } from '../../src/contract/schemas/rail.ts'
import type { Rail } from '../../src/contract/schemas/rail.ts'
import { minuteMs, hourMs, isoTime } from '../../src/core/time.ts'
import { eventsSince } from '../../src/db/events.ts'
import { allowSlowTests } from '../support/slow-tests.ts'
import { newLedger, problemsOfSet, useProgram, withHooks } from './ledger.ts'
import type { Ledger } from './ledger.ts'
import { daysAgo, firstPollMs, startRecordedSources } from './recorded-sources.ts'
import type { RecordedSources } from './recorded-sources.ts'

allowSlowTests('polls every rail')

interface ExpectedFigures {
  /** In USDC: 30 days, 7 days, then both before the rule. */
  readonly volumes: readonly (number | null)[]
  /** Creators, workers, and the share of the top worker. */
  readonly parties: readonly (number | null)[]
  readonly removed?: Readonly<Record<string, number>>
  readonly lastPayoutMs?: number
}

interface Expected {
  readonly status: string
  /** The audited status, if the poll changed it. */
  readonly from?: string
  /** Omitted for rails whose figures from the same answers `test/builder/rails/http-rails` checks. */
  readonly figures?: ExpectedFigures
}

const nobodyIsPaid = [0, 0, 0, 0] as const
const withoutPrices = [null, null, null, null] as const
const quiet: Expected = {
  status: 'dormant',
  from: 'pre-traction',
  figures: { volumes: nobodyIsPaid, parties: [0, 0, 0] },
}
const unknown = { volumes: withoutPrices, parties: [null, null, null] }

const expected: Readonly<Record<string, Expected>> = {
  // 1.50 + 2.00 twenty days ago and 0.75 + 0.25 + 0.50 five days ago; raw also 9.00 that a seller paid itself.
  // Five buyers; the first of two sellers has 1.50 + 2.00 + 0.50 = 4.00 of 5.00.
  x402: {
    status: 'pre-traction',
    from: 'paying',
    figures: {
      volumes: [5, 1.5, 14, 10.5],
      parties: [5, 2, 0.8],
      lastPayoutMs: daysAgo(5),
      removed: { self_payment: 1 },
    },
  },
  // A fee of 5, and 97 by the first contract and 3 by the current escrow, of two clients to two providers: 100 / 105 is above 90 %.
  virtuals_acp: {
    status: 'concentrated',
    from: 'pre-traction',
    figures: { volumes: [105, 100, 105, 100], parties: [2, 2, 0.95238], lastPayoutMs: daysAgo(3) },
  },
  // 50 + 25 xDAI; five requesters with a budget; 3 of 5 deliveries; withdrawn two days ago.
  olas: {
    status: 'paying',
    from: 'pre-traction',
    figures: { volumes: [75, 25, 75, 25], parties: [5, 2, 0.6], lastPayoutMs: daysAgo(2) },
  },
  // 300 and 100 PACT, which have no price: 300 / 400.
  pact: {
    status: 'pre-traction',
    figures: { volumes: withoutPrices, parties: [2, 2, 0.75], lastPayoutMs: daysAgo(3) },
  },
  // 0.1 and 0.02 ETH at 2,500 USD: 250 + 50, and 250 / 300; the 9 ETH of 35 days ago are too old.
  poidh: {
    status: 'pre-traction',
    figures: { volumes: [300, 50, 300, 50], parties: [2, 2, 0.833333], lastPayoutMs: daysAgo(3) },
  },
  // 0.05 ETH at 2,000 USD, of the only issuer to the only worker.
  poidh_arbitrum: {
    status: 'potemkin',
    from: 'pre-traction',
    figures: { volumes: [100, 100, 100, 100], parties: [1, 1, 1], lastPayoutMs: daysAgo(3) },
  },
  // Registrations alone are no activity.
  erc8004: {
    status: 'dormant',
    from: 'pre-traction',
    figures: { volumes: nobodyIsPaid, parties: [0, 0, 0] },
  },
  // Two clients, both of them about one agent.
  erc8004_base: {
    status: 'concentrated',
    from: 'pre-traction',
    figures: { volumes: nobodyIsPaid, parties: [2, 1, 1] },
  },
  // 2.00 + 1.00 this week and 0.50 + 0.25 + 0.25 before; the first seller has 3.25 of 4.00.
  x402_solana: {
    status: 'pre-traction',
    figures: { volumes: [4, 3, 4, 3], parties: [5, 2, 0.8125], lastPayoutMs: daysAgo(2) },
  },
  // 500 + 250.50 + 100 + 40 in dollar coins, of which 250.50 + 40 this week; raw also 3,000 for humans only.
  superteam_earn: {
    status: 'pre-traction',
    figures: {
      volumes: [890.5, 290.5, 3890.5, 290.5],
      parties: [4, 3, null],
      lastPayoutMs: Date.UTC(2026, 9, 1, 12),
      removed: { human_only: 1 },
    },
  },
  solana_registry: { status: 'pre-traction' },
  bountybook: { status: 'pre-traction' },
  // Lifetime totals give no 30-day figure until there is a poll from 30 days ago.
  taskmarket: { status: 'pre-traction', figures: unknown },
  toku: { status: 'pre-traction', figures: unknown },
  x402_bazaar: { status: 'pre-traction' },
  smithery: { status: 'pre-traction' },
  apify: { status: 'pre-traction' },
  near: { status: 'pre-traction' },
  sokosumi: { status: 'pre-traction' },
  opire: { status: 'pre-traction' },
  sherlock: { status: 'pre-traction' },
  agentverse: { status: 'pre-traction' },
  agent_bounties: { status: 'pre-traction' },
  frantic: { status: 'pre-traction', figures: unknown },
  execution_market: { status: 'pre-traction', figures: unknown },
  cantina: { status: 'pre-traction' },
  immunefi: { status: 'pre-traction' },
  l402: { status: 'pre-traction' },
  // Nothing is paid on these chains, or by these contracts.
  poidh_ethereum: quiet,
  x402_polygon: quiet,
  x402_arbitrum: quiet,
  olas_base: quiet,
  olas_polygon: quiet,
  olas_optimism: quiet,
  olas_arbitrum: quiet,
  olas_celo: quiet,
  olas_ethereum: quiet,
  mpp: quiet,
  erc8183_bnb: quiet,
}

const moved = Object.entries(expected).flatMap(([rail, { from, status }]) =>
  from === undefined ? [] : [`${rail}: ${from} → ${status}`],
)

/** 100 / 105, 1 / 1 and 1 / 1 are above 90 %; (3,890.5 − 890.5) / 3,890.5 is more than half; 9 of 14 USDC are too few. */
const flagsOfTheDay = [
  'concentrated erc8004_base',
  'concentrated poidh_arbitrum',
  'concentrated virtuals_acp',
  'mostly_filtered superteam_earn',
  // Published pacts that are missing or different in the recorded escrow.
  ...Array.from({ length: 6 }, () => 'pact_sources_disagree pact'),
  'single_payment poidh',
  'single_payment poidh_arbitrum',
  'single_payment virtuals_acp',
]

const brokenSources = {
  smithery: 'html',
  superteam_earn: '500',
  sherlock: 'time-out',
} as const
const brokenRails = Object.keys(brokenSources).toSorted()

const stats = z.object({ open_flags: z.number(), rails_paying: z.number() })

const testClock = 'test/support/test-clock.ts'

const program = useProgram()
let sources: RecordedSources
let ledger: Ledger

beforeAll(async () => {
  sources = await startRecordedSources()
  ledger = newLedger(program, { ...sources.env, ...withHooks(program, testClock) })
})

afterAll(async () => {
  ledger.remove()
  await sources.stop()
})

async function runOnce(nowMs: number, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const running = ledger.builder(['--once'], { ...env, TEST_CLOCK_MS: String(nowMs) })
  const code = await running.ended
  if (code !== 0) throw new Error(`exit code ${code}:\n${running.output()}`)
  return running.output()
}

function expectFigures(found: Rail, wanted: ExpectedFigures): void {
  const known = (name: (typeof found.unknown_figures)[number]) =>
    found.unknown_figures.includes(name) ? null : found[name]
  const volumes = ['tpv_30d_usdc', 'tpv_7d_usdc', 'tpv_30d_raw_usdc', 'tpv_7d_raw_usdc'] as const
  const parties = ['unique_creators_30d', 'unique_workers_30d', 'top_worker_share'] as const
  const { lastPayoutMs } = wanted
  expect(volumes.map(known)).toEqual(wanted.volumes)
  expect(parties.map(known)).toEqual(wanted.parties)
  expect(found.removed_30d).toEqual(wanted.removed ?? {})
  expect(found.last_payout_at).toBe(lastPayoutMs === undefined ? undefined : isoTime(lastPayoutMs))
}

const railOf = (slug: string) => railShape.parse(ledger.document(`api/v1/rails/${slug}.json`))
const head = () => ledger.git('rev-parse', 'HEAD').trim()
const subject = () => ledger.git('log', '-1', '--format=%s').trim()

function changedFiles(from: string, to: string): string[] {
  return ledger.git('diff', '--name-only', from, to).trim().split('\n').toSorted()
}

function openFlags(): string[] {
  const { flags } = flagList.parse(ledger.document('api/v1/honesty/flags.json'))
  return flags
    .filter(({ closed_at: closed }) => closed === undefined)
    .map(({ kind, rail }) => `${kind} ${rail}`)
    .toSorted()
}

async function eventTitles(kind: string): Promise<string[]> {
  return await ledger.withDatabase(async ({ reader }) => {
    const events = await eventsSince(reader, { time: '2020-01-01T00:00:00.000Z' }, 1000)
    return events.filter((event) => event.kind === kind).map(({ rail }) => rail ?? '')
  })
}

/** The archived list of rails at a commit, without the rails in `without`. */
function archivedRails(commit: string, without: readonly string[]): unknown[] {
  const list = z
    .object({ rails: z.array(z.looseObject({ rail: z.string() })) })
    .parse(JSON.parse(ledger.git('show', `${commit}:api/v1/rails.json`)))
  return list.rails.filter(({ rail }) => !without.includes(rail))
}

const secondPollMs = firstPollMs + 20 * minuteMs
const brokenPollMs = firstPollMs + 5 * hourMs
const lastPollMs = firstPollMs + 8 * hourMs
let commitOfTheDay = ''
let commitOfTheBrokenPoll = ''

describe('a recorded world', () => {
  it('audits of rails are published before the first poll', async () => {
    await runOnce(firstPollMs - minuteMs, { POLL: 'off' })
    expect(subject()).toMatch(/^ledger: first build, \d+ rails in \d+ documents$/)
    for (const { rail } of railAdapters) {
      expect(railOf(rail)).toMatchObject({ figures_source: 'audit' })
    }
    // x402 on Base by its audit of a week before; nobody has counted who pays on the Apify Store.
    expect(stats.parse(ledger.document('api/v1/stats/live.json'))).toMatchObject({
      rails_paying: 1,
    })
    expect(railOf('x402')).toMatchObject({ status: 'paying', judged: true })
    expect(railOf('apify')).toMatchObject({ status: 'pre-traction', judged: false })
  })

  it('all recorded rails are polled in one run without a failure, with a log line per rail', async () => {
    const output = await runOnce(firstPollMs)
    expect(sources.unmatched()).toEqual([])
    const lines = output.split('\n').filter((line) => /^(?:ok|failed) /.test(line))
    expect(lines.map((line) => line.split(' ').slice(0, 2).join(' ')).toSorted()).toEqual(
      railAdapters.map(({ rail }) => `ok ${rail}`).toSorted(),
    )
    expect(output).toContain('(pre-traction → paying)')
    expect(problemsOfSet(ledger)).toEqual([])
  })

  it('the expected figures cover every polled rail', () => {
    expect(Object.keys(expected).toSorted()).toEqual(
      railAdapters.map(({ rail }) => rail).toSorted(),
    )
  })

  it.each(Object.entries(expected))('publishes the status and figures of %s', (slug, wanted) => {
    const found = railOf(slug)
    expect(found.status).toBe(wanted.status)
    if (wanted.figures !== undefined) expectFigures(found, wanted.figures)
    expect(found).toMatchObject({
      figures_source: 'poll',
      figures_as_of: isoTime(firstPollMs),
      polled_at: isoTime(firstPollMs),
      stale: false,
    })
    expect(found.poll_error).toBeUndefined()
    if (wanted.from !== undefined) expect(found.status_since).toBe(isoTime(firstPollMs))
  })

  it('every status change is stored as a transition, and the flags that the figures require are opened', async () => {
    expect((await eventTitles('rail_transition')).toSorted()).toEqual(
      moved.map((line) => line.replace(/:.*/, '')).toSorted(),
    )
    expect(openFlags()).toEqual(flagsOfTheDay)
    // Olas by its figures.
    expect(stats.parse(ledger.document('api/v1/stats/live.json'))).toEqual({
      open_flags: flagsOfTheDay.length,
      rails_paying: 1,
    })
  })

  it('the archive of a poll has a message that counts the changes, and a diff that lists them', () => {
    const diff = ledger.git('show', 'HEAD:diffs/latest.md')
    expect(subject()).toBe(
      `rails: ${moved.length} rails changed status; 7 flags opened; ${railAdapters.length} rails with new figures`,
    )
    for (const line of moved) {
      const [rail, from, to] = line.split(/: | → /)
      expect(diff).toContain(`\n- \`${rail}\` went from **${from}** to **${to}**.\n`)
    }
    expect(diff).toContain(': Virtuals ACP: one worker takes more than 90 %\n')
    commitOfTheDay = head()
  })

  /** Documents that show the time of the last run. */
  const documentsOfRuns = ['/status', '/status.md', '/status/receipts.json']
  const changedSince = (before: ReadonlyMap<string, string>) =>
    ledger
      .manifest()
      .documents.filter(({ path, sha256 }) => before.get(path) !== sha256)
      .map(({ path }) => path)
      .toSorted()

  it('a repeated build causes no commit and rewrites only documents about the run', async () => {
    const before = new Map(ledger.manifest().documents.map((entry) => [entry.path, entry.sha256]))
    await runOnce(firstPollMs + 10 * minuteMs, { POLL: 'off' })
    expect(changedSince(before)).toEqual(documentsOfRuns)
    expect(head()).toBe(commitOfTheDay)
  })

  it('a repeated poll causes no commit and rewrites only documents with poll times', async () => {
    const before = new Map(ledger.manifest().documents.map((entry) => [entry.path, entry.sha256]))
    await runOnce(secondPollMs)
    expect(head()).toBe(commitOfTheDay)
    const api = '/api/v1'
    const perRail = railAdapters.flatMap(({ rail }) => [
      ...['', '/history', '/history.csv'].map((end) => `${api}/rails/${rail}${end}`),
      ...['', '.md'].map((end) => `/rails/${rail}${end}`),
    ])
    const lists = ['/rails', '/rails.csv', '/opportunities'].map((path) => `${api}${path}`)
    const shown = ['/', '/index.md', '/opportunities', '/opportunities.md']
    // The reference shows the first rows of documents of rails.
    const reference = ['/docs/reference/rails', '/docs/reference/rails.md']
    const pages = [...shown, ...reference, ...documentsOfRuns]
    expect(changedSince(before)).toEqual([...lists, ...perRail, ...pages].toSorted())
    expect(railOf('x402')).toMatchObject({ polled_at: isoTime(secondPollMs), tpv_30d_usdc: 5 })
  })

  it('a poll in which sources fail changes and reports only their rails', async () => {
    for (const [rail, mode] of Object.entries(brokenSources)) sources.setMode(rail, mode)
    await sources.settle(brokenPollMs)
    const before = new Map(brokenRails.map((rail) => [rail, railOf(rail)]))
    // The test clock runs ten times as fast, so requests time out after 1.5 s.
    await runOnce(brokenPollMs, { TEST_CLOCK_SPEED: '10' })
    commitOfTheBrokenPoll = head()
    expect(subject()).toBe('rails: 3 polls failed; 3 flags opened')
    expect(changedFiles(commitOfTheDay, commitOfTheBrokenPoll)).toEqual(
      [
        'api/v1/honesty/flags.json',
        'api/v1/rails.json',
        ...brokenRails.map((rail) => `api/v1/rails/${rail}.json`),
        'api/v1/stats/daily.json',
        'api/v1/stats/live.json',
        'diffs/latest.md',
      ].toSorted(),
    )
    expect(archivedRails(commitOfTheBrokenPoll, brokenRails)).toEqual(
      archivedRails(commitOfTheDay, brokenRails),
    )
    for (const rail of brokenRails) {
      const { poll_error: error, polled_at: polledAt, poll_duration_ms: _, ...kept } = railOf(rail)
      const { polled_at: _at, poll_duration_ms: _ms, ...was } = before.get(rail) ?? railOf(rail)
      expect(kept).toEqual(was)
      expect(polledAt).toBe(isoTime(brokenPollMs))
      expect(error).toBeDefined()
    }
    expect(brokenRails.map((rail) => railOf(rail).poll_error)).toEqual([
      expect.stringMatching(/: no complete response within 15 s$/),
      expect.stringMatching(/: answered HTML instead of JSON$/),
      expect.stringMatching(/: HTTP 500$/),
    ])
    expect(openFlags()).toEqual(
      [...flagsOfTheDay, ...brokenRails.map((rail) => `poll_failed ${rail}`)].toSorted(),
    )
  })

  it('rails have their former figures once their sources answer again', async () => {
    for (const rail of brokenRails) sources.setMode(rail, 'normal')
    await sources.settle(lastPollMs)
    await runOnce(lastPollMs)
    expect(subject()).toBe('rails: 3 polls recovered; 3 flags closed')
    expect(changedFiles(commitOfTheDay, head())).toEqual(['diffs/latest.md'])
    expect(openFlags()).toEqual(flagsOfTheDay)
    expect((await eventTitles('flag_closed')).toSorted()).toEqual(brokenRails)
    expect(problemsOfSet(ledger)).toEqual([])
    for (const rail of brokenRails) expect(railOf(rail).poll_error).toBeUndefined()
  })

  it('the history keeps every poll, failed ones without figures', () => {
    const { polls } = z
      .object({
        polls: z.array(z.object({ outcome: z.string(), tpv_30d_usdc: z.number().nullable() })),
      })
      .parse(ledger.document('api/v1/rails/sherlock/history.json'))
    expect(polls).toEqual([
      { outcome: 'ok', tpv_30d_usdc: 175_500.5 },
      { outcome: 'failed', tpv_30d_usdc: null },
      { outcome: 'ok', tpv_30d_usdc: 175_500.5 },
      { outcome: 'ok', tpv_30d_usdc: 175_500.5 },
    ])
  })
})
