import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'

import type { AnyRailAdapter, Figures, AdapterContext } from '../../../builder/rails/adapter.ts'
import { httpRails } from '../../../builder/rails/index.ts'
import type { PastPoll } from '../../../builder/rails/past-polls.ts'
import { impossibleFigures, unknownFigures } from '../../../src/core/figures.ts'
import { dayMs } from '../../../src/core/time.ts'
import { openDatabase } from '../../../src/db/open.ts'
import type { OpenDatabase } from '../../../src/db/open.ts'
import { SourceError } from '../../../src/outbound/http.ts'
import { volumes } from '../../support/figures.ts'
import { railContext } from '../../support/rail-context.ts'
import {
  fixturesOf,
  replayModes,
  startAnswering,
  startReplayServer,
} from '../../support/replay-server.ts'
import type { ReplayMode, ReplayServer } from '../../support/replay-server.ts'

const endMs = Date.UTC(2026, 9, 5)
const usd = (dollars: number): number => Math.round(dollars * 1_000_000)

const noMoney = volumes(0, 0)

type Outcome = RegExp | { readonly figures: Figures; readonly removed: Record<string, number> }
/** Figures that a poll returns, computed by hand from the fixtures, and how many items it removed by rule. */
const polled = (figures: Figures, removed: Record<string, number> = {}): Outcome => ({
  figures,
  removed,
})

/** The figures, or the text of the error, for each form of the answer. The default is the normal outcome. */
type RailCase = { readonly normal: Outcome; readonly empty: Outcome } & {
  readonly [mode in 'absurd' | 'negative']?: Outcome
}

const superteam: Figures = {
  ...unknownFigures,
  // l2 500, l3 250.50, l6 100 (announced as the window begins) and l8 40; l4 is paid in SOL.
  // and l1, 3,000 for humans only, announced before the last week.
  ...volumes(usd(890.5), usd(290.5), usd(3890.5), usd(290.5)),
  uniqueCreators30d: 4,
  uniqueWorkers30d: 3,
  activity30d: 5,
  lastPayoutAtMs: Date.UTC(2026, 9, 1, 12),
}
const bazaar: Figures = {
  ...unknownFigures,
  ...noMoney,
  uniqueWorkers30d: 22,
  topWorkerShare: 21 / 57,
  activity30d: 57,
}
const registry: Figures = {
  ...unknownFigures,
  ...noMoney,
  uniqueCreators30d: 3,
  uniqueWorkers30d: 2,
  topWorkerShare: 3 / 4,
  activity30d: 4,
}
const contests: Figures = {
  ...unknownFigures,
  ...volumes(usd(175_500.5), usd(100_000), usd(195_500.5), usd(100_000)),
  activity30d: 3,
}
const competitions: Figures = {
  ...unknownFigures,
  ...volumes(usd(240_000.5), usd(200_000), usd(290_000.5), usd(200_000)),
  activity30d: 3,
}
const settled: Figures = {
  ...unknownFigures,
  // 5 + 0.5 + 2 this week and 4.5 before; raw also the 2 of a solver who helped to fund the bounty.
  ...volumes(usd(12), usd(7.5), usd(14), usd(7.5)),
  uniqueCreators30d: 3,
  uniqueWorkers30d: 3,
  topWorkerShare: 0.583333,
  activity30d: 4,
  lastPayoutAtMs: Date.UTC(2026, 9, 2, 9),
}
const smitheryFigures: Figures = {
  ...unknownFigures,
  ...noMoney,
  uniqueWorkers30d: 100,
  topWorkerShare: 0.8,
}
const searchFigures: Figures = {
  ...unknownFigures,
  ...noMoney,
  uniqueWorkers30d: 10_000,
  activity30d: 10_000,
}

/** Older names of a field, which a source may stop sending. */
const alternatives: ReadonlySet<string> = new Set(['maxAmountRequired'])

const withoutWorkers = { uniqueWorkers30d: 0, topWorkerShare: 0, activity30d: 0 }
const oneLess = { ...bazaar, uniqueWorkers30d: 21, topWorkerShare: 21 / 56, activity30d: 56 }
const oneContestLess: Figures = {
  ...contests,
  ...volumes(usd(75_500.5), 0, usd(95_500.5), 0),
  activity30d: 2,
}
const creators = (count: number): Figures => ({ ...unknownFigures, uniqueCreators30d: count })

const cases: Readonly<Record<string, RailCase>> = {
  superteam_earn: {
    normal: polled(superteam, { human_only: 1 }),
    empty: polled({
      ...unknownFigures,
      ...noMoney,
      ...withoutWorkers,
      uniqueCreators30d: 0,
    }),
    absurd: polled(
      {
        ...superteam,
        ...volumes(usd(640), usd(40), usd(3640), usd(40)),
        uniqueWorkers30d: 2,
        activity30d: 4,
      },
      { human_only: 1, above_ceiling: 1 },
    ),
    negative: /^superteam\.fun\/api\/listings: field 3\.rewardAmount: /,
  },
  x402_bazaar: {
    normal: polled(bazaar, { testnet: 20, no_amount: 4 }),
    empty: polled({ ...bazaar, ...withoutWorkers }),
    absurd: polled(oneLess, { testnet: 20, no_amount: 4, above_ceiling: 1 }),
    negative: polled(oneLess, { testnet: 20, no_amount: 5 }),
  },
  solana_registry: {
    // A lifetime total that is absurd appears only in the notes: the figures count the feedback itself.
    normal: polled(registry, { revoked: 1 }),
    empty: polled({ ...registry, ...withoutWorkers, uniqueCreators30d: 0 }),
    negative: /field 0\.total_feedbacks: /,
  },
  smithery: {
    normal: polled(smitheryFigures),
    empty: polled({ ...smitheryFigures, ...withoutWorkers }),
    absurd: /field servers\.0\.useCount: /,
    negative: /field servers\.0\.useCount: /,
  },
  apify: {
    normal: polled(unknownFigures, { free: 1, unused: 1 }),
    empty: polled({ ...unknownFigures, activity30d: 0 }),
    absurd: polled(unknownFigures, { free: 1, unused: 1, absurd_price: 1 }),
    negative: /field data\.items\.0\.stats\.totalUsers30Days: /,
  },
  taskmarket: {
    normal: polled(unknownFigures),
    empty: polled({ ...unknownFigures, ...noMoney }),
    absurd: /field totalRewards: is not a decimal amount/,
    negative: /field totalRewards: /,
  },
  near: {
    normal: polled(creators(2)),
    empty: polled(unknownFigures),
    absurd: polled(creators(2), { absurd_budget: 1 }),
    negative: /field 1\.budget_amount: /,
  },
  sokosumi: {
    // No amount of this list is used.
    normal: polled(unknownFigures, { repeated: 1 }),
    empty: polled({ ...unknownFigures, activity30d: 0 }),
  },
  bountybook: {
    normal: polled(creators(2), { no_price: 1, absurd_price: 1 }),
    empty: polled(unknownFigures),
    absurd: polled(creators(1), { no_price: 1, absurd_price: 2 }),
    negative: polled(creators(1), { no_price: 1, absurd_price: 1, negative_price: 1 }),
  },
  opire: {
    normal: polled(unknownFigures, { absurd_price: 1, unknown_unit: 1 }),
    empty: polled(unknownFigures),
    absurd: polled(unknownFigures, { absurd_price: 2, unknown_unit: 1 }),
    negative: polled(unknownFigures, { absurd_price: 1, unknown_unit: 1, negative_price: 1 }),
  },
  sherlock: {
    normal: polled(contests, { in_judging: 1, private: 1, not_held: 1 }),
    empty: polled({ ...contests, ...noMoney, activity30d: 0 }),
    absurd: polled(oneContestLess, { in_judging: 1, private: 1, not_held: 1, above_ceiling: 1 }),
    negative: /field items\.0\.prize_pool: /,
  },
  toku: {
    normal: polled(unknownFigures),
    empty: polled({ ...unknownFigures, ...withoutWorkers }),
    absurd: /field data\.0\.jobsCompleted: /,
    negative: /field data\.0\.jobsCompleted: /,
  },
  agent_bounties: {
    normal: polled(settled, { self_dealing: 1 }),
    empty: polled({
      ...settled,
      ...noMoney,
      ...withoutWorkers,
      uniqueCreators30d: 0,
      lastPayoutAtMs: null,
    }),
    absurd: polled(
      {
        ...settled,
        ...volumes(usd(7), usd(2.5), usd(5_000_009), usd(5_000_002.5)),
        uniqueCreators30d: 2,
        topWorkerShare: 0.642857,
        activity30d: 3,
      },
      { self_dealing: 1, above_ceiling: 1 },
    ),
    negative: /field 2\.data\.solver_reward: /,
  },
  frantic: {
    normal: polled(unknownFigures),
    empty: polled({ ...unknownFigures, ...noMoney, activity30d: 0 }),
    absurd: /field board\.moved_usd: is implausibly high/,
    negative: /field board\.moved_usd: /,
  },
  execution_market: {
    normal: polled(unknownFigures),
    empty: polled({ ...unknownFigures, ...noMoney, activity30d: 0 }),
    absurd: /field tasks\.bounty_usd: is implausibly high/,
    negative: /field tasks\.0\.bounty_usd: /,
  },
  cantina: {
    normal: polled(competitions, { in_judging: 1, private: 1 }),
    empty: polled({ ...competitions, ...noMoney, activity30d: 0 }),
    absurd: polled(
      {
        ...competitions,
        // The other pool of the window that is left has no price.
        ...volumes(null, 0, null, 0),
        activity30d: 2,
      },
      { in_judging: 1, private: 1, above_ceiling: 1 },
    ),
    negative: /field 0\.totalRewardPot: /,
  },
  immunefi: {
    normal: polled(unknownFigures, { paused: 1, ended: 1, by_invitation: 1, no_reward: 1 }),
    empty: polled(unknownFigures),
    negative: /field 0\.maxBounty: /,
  },
  l402: {
    normal: polled(unknownFigures, { down: 1, no_price: 1, no_address: 1 }),
    empty: polled(unknownFigures),
    negative: polled(unknownFigures, { down: 1, no_price: 2, no_address: 1 }),
  },
  agentverse: {
    normal: polled(searchFigures),
    empty: polled({ ...searchFigures, ...withoutWorkers }),
    absurd: /field agents\.0\.total_interactions: /,
    negative: /field total: /,
  },
}

/** The errors of every adapter for an answer that cannot be read. */
const failures: Readonly<Partial<Record<ReplayMode, RegExp>>> = {
  'time-out': /: no complete response within 0\.15 s$/,
  '500': /: HTTP 500$/,
  html: /: answered HTML instead of JSON$/,
  truncated: /: the JSON is cut off after \d+ bytes$/,
  huge: /: the answer is larger than 262144 bytes$/,
}

function adapterOf(rail: string): AnyRailAdapter {
  const adapter = httpRails.find((one) => one.rail === rail)
  if (adapter === undefined) throw new Error(`no adapter for ${rail}`)
  return adapter
}

// Adapters of these rails neither read nor write it.
let database: OpenDatabase
beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-http-rails-'))
  database = await openDatabase({ url: join(folder, 'ledger.db') })
  return async () => {
    await database.close()
    rmSync(folder, { recursive: true })
  }
})

function contextFor(
  rail: string,
  server: ReplayServer,
  mode: ReplayMode = 'normal',
): AdapterContext {
  server.setMode(mode)
  const timeoutMs = mode === 'time-out' ? 150 : 5000
  const limits = { timeoutMs, maxBytes: 262_144 }
  // These rails do not read a chain.
  return railContext({ rail, endMs, database, rpcUrl: '', baseUrl: server.url, ...limits })
}

test('every rail read over HTTP has a case here, except x402 on Solana', () => {
  const rails = httpRails.map(({ rail }) => rail).filter((rail) => rail !== 'x402_solana')
  expect(Object.keys(cases).toSorted()).toEqual(rails.toSorted())
})

describe.each(Object.entries(cases))('%s', (rail, expected) => {
  let server: ReplayServer
  beforeAll(async () => {
    server = await startReplayServer(rail)
  })
  afterAll(async () => {
    await server.close()
  })

  test.each(replayModes)(`${rail} reads the answer "%s" as expected`, async (mode) => {
    const own = mode === 'empty' || mode === 'absurd' || mode === 'negative' ? expected[mode] : null
    const wanted = failures[mode] ?? own ?? expected.normal
    const measuring = adapterOf(rail).measure(contextFor(rail, server, mode))
    if (wanted instanceof RegExp) {
      const error: unknown = await measuring.catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(SourceError)
      const message = error instanceof Error ? error.message : ''
      expect(message).toMatch(wanted)
      expect(message).not.toMatch(/\?|limit=|status=/)
      return
    }
    const { measurement } = await measuring
    expect(measurement.figures).toEqual(wanted.figures)
    expect(measurement.removed30d).toEqual(wanted.removed)
    expect(impossibleFigures(measurement.figures)).toEqual([])
    expect(JSON.stringify(measurement)).not.toContain(String.raw`\u0000`)
    expect(server.unmatched).toEqual([])
  })

  test(`a field that the source of ${rail} renames is an error, or changes no figure`, async () => {
    const fixtures = fixturesOf(rail)
    const names = new Set<string>()
    JSON.stringify(
      fixtures.map(({ answer }) => answer.body),
      (name, value: unknown) => {
        if (/^[A-Za-z_]/.test(name)) names.add(name)
        return value
      },
    )
    let renamed = ''
    const renaming = await startAnswering(({ path }) => {
      const found = fixtures.find(({ request }) => request.path === path)
      if (found === undefined) return undefined
      const text = JSON.stringify(found.answer.body)
      return { body: JSON.parse(text.replaceAll(`"${renamed}":`, '"another":')) }
    })
    onTestFinished(renaming.close)
    const poll = async (name: string) => {
      renamed = name
      const { measurement } = await adapterOf(rail).measure(contextFor(rail, renaming))
      return measurement.figures
    }
    const figures = await poll('')
    for (const name of names) {
      if (alternatives.has(name)) continue
      const found = await poll(name).catch((error: unknown) => error)
      if (!(found instanceof SourceError)) expect.soft([name, found]).toEqual([name, figures])
    }
  })

  test(`${rail} has evidence with the source, the hash of the bytes and the number of items`, async () => {
    const { measurement } = await adapterOf(rail).measure(contextFor(rail, server))
    expect(measurement.evidence.length).toBe(fixturesOf(rail).length)
    for (const pointer of measurement.evidence) {
      if (pointer.kind !== 'http') throw new Error('evidence of another kind')
      expect(pointer.sha256).toMatch(/^[0-9a-f]{64}$/)
      expect(adapterOf(rail).hosts).toContain(new URL(pointer.url).origin)
    }
  })
})

test.each([
  ['l402', '4 endpoints of 3 hosts request payment over Lightning.'],
  ['immunefi', '3 programmes are open to everyone'],
])('the notes of %s state what is offered', async (rail, wanted) => {
  const server = await startReplayServer(rail)
  onTestFinished(server.close)
  const { measurement } = await adapterOf(rail).measure(contextFor(rail, server))
  expect(measurement.notes.join(' ')).toContain(wanted)
})

describe('lifetime counters', () => {
  async function measureWith(rail: string, past: readonly PastPoll[]) {
    const server = await startReplayServer(rail)
    onTestFinished(server.close)
    return await adapterOf(rail).measure({ ...contextFor(rail, server), past })
  }
  const at = (daysAgo: number, counters: Record<string, number>): PastPoll => ({
    polledAtMs: endMs - daysAgo * dayMs,
    counters,
  })

  test('lifetime counters give Taskmarket a volume by their growth over 30 and 7 days', async () => {
    const { measurement, counters } = await measureWith('taskmarket', [
      at(0.25, { paid_micro_usdc: usd(2789) }),
      at(7.2, { paid_micro_usdc: usd(2500.5) }),
      at(29.9, { paid_micro_usdc: usd(2000) }),
      at(31, { paid_micro_usdc: usd(1) }),
    ])
    expect(counters).toEqual({ paid_micro_usdc: 2_789_623_764 })
    expect(measurement.figures).toMatchObject(volumes(789_623_764, 289_123_764))
  })

  test('lifetime counters give no volume where no poll is within twelve hours, or a counter fell', async () => {
    const tooFar = await measureWith('taskmarket', [
      at(29.4, { paid_micro_usdc: 1 }),
      at(30.6, { paid_micro_usdc: 1 }),
    ])
    const fell = await measureWith('taskmarket', [at(30, { paid_micro_usdc: usd(9999) })])
    expect(tooFar.measurement.figures).toEqual(unknownFigures)
    expect(fell.measurement.figures).toEqual(unknownFigures)
  })

  test.each([
    ['frantic', 'paid_micro_usdc', 1106, 2],
    // 1 + 0.1 + 0.02 of the tasks, and not the 268.43 that the platform states.
    ['execution_market', 'bounties_micro_usdc', 1.12, 3],
  ])(
    'lifetime counters give %s its volume and its activity',
    async (rail, counter, paidUsd, completed) => {
      const { measurement, counters } = await measureWith(rail, [
        at(7, { [counter]: usd(paidUsd / 2), completed: 2 }),
        at(30, { [counter]: usd(paidUsd / 4), completed: 1 }),
      ])
      expect(counters).toEqual({ [counter]: usd(paidUsd), completed })
      expect(measurement.figures).toEqual({
        ...unknownFigures,
        ...volumes(usd((paidUsd * 3) / 4), usd(paidUsd / 2)),
        activity30d: completed - 1,
      })
    },
  )

  test('Execution Market gives no figure where its list of tasks lacks some', async () => {
    const tasks = fixturesOf('execution_market').filter(({ request }) =>
      request.path.startsWith('/api/v1/tasks'),
    )
    const server = await startAnswering(({ path }) => ({
      body:
        tasks.find(({ request }) => request.path === path)?.answer.body ??
        ({ tasks: { total: 4118, completed: 1415 } } as const),
    }))
    onTestFinished(server.close)
    const ctx = contextFor('execution_market', server)
    await expect(adapterOf('execution_market').measure(ctx)).rejects.toThrow(
      'the list has 3 completed tasks, the totals state 1,415',
    )
  })

  test('lifetime counters give toku its workers: agents whose counter grew, and new ones', async () => {
    const past = [at(30, { jobs_completed: 10, 'agent.t1': 10 })]
    const { measurement, counters } = await measureWith('toku', past)
    expect(counters).toEqual({ jobs_completed: 15, 'agent.t1': 12, 'agent.t2': 3 })
    expect(measurement.figures).toEqual({
      ...unknownFigures,
      activity30d: 5,
      uniqueWorkers30d: 2,
      topWorkerShare: 3 / 5,
    })
  })

  test('lifetime counters give Smithery its activity by the growth of uses', async () => {
    const { measurement } = await measureWith('smithery', [at(30, { uses: 400 })])
    expect(measurement.figures.activity30d).toBe(600)
  })

  test('lifetime counters of Opire are compared in the notes and not used as figures', async () => {
    const past = [at(30, { 'kpi.rewards.paid': 300 })]
    const { measurement, counters } = await measureWith('opire', past)
    expect(counters).toEqual({
      'kpi.users': 4100,
      'kpi.rewards.created': 900,
      'kpi.rewards.paid': 310,
    })
    expect(measurement.notes.join(' ')).toContain('rewards.paid 310 (+10 in 30 days)')
  })
})
