import { describe, expect, it } from 'vitest'

import { impossibleFigures, unknownFigures } from '../../src/core/figures.ts'
import type { Figures } from '../../src/core/figures.ts'
import { flagTexts } from '../../src/core/flags/index.ts'
import { decidePoll, isCurrent, isJudged, stateFromAudit } from '../../src/core/rail-poll.ts'
import type { PollOutcome, RailState } from '../../src/core/rail-poll.ts'
import { dayMs, hourMs } from '../../src/core/time.ts'
import { figures } from '../support/figures.ts'

const start = Date.parse('2026-11-21T06:00:00Z')
const pollEveryMs = 6 * hourMs

const facts = (startedAtMs: number) =>
  ({ displayName: 'Olas', basis: 'payments', startedAtMs, durationMs: 12, pollEveryMs }) as const

const good = (changes: Partial<Figures> = {}): PollOutcome => ({
  kind: 'good',
  measurement: {
    figures: figures(changes),
    removed30d: { self: 2 },
    notes: ['a note'],
    evidence: [],
  },
})
const failed = (error = 'answered 500'): PollOutcome => ({ kind: 'failed', error, impossible: [] })

const audited = stateFromAudit({
  rail: 'olas',
  status: 'dormant',
  asOfMs: start - 1e9,
  figures: {},
})

/** Polls one after the other, six hours apart. */
function after(...outcomes: PollOutcome[]) {
  let state: RailState = audited
  let last = decidePoll(state, outcomes[0] ?? failed(), facts(start))
  outcomes.forEach((outcome, index) => {
    last = decidePoll(state, outcome, facts(start + index * pollEveryMs))
    state = last.state
  })
  return last
}

const kindsOf = (decision: ReturnType<typeof after>) => decision.raised.map(({ kind }) => kind)

describe('a good poll', () => {
  it('a good poll replaces the figures, derives the status and returns the transition', () => {
    const { state, transition } = after(good())
    expect(transition).toEqual({ from: 'dormant', to: 'paying' })
    expect(state).toMatchObject({
      status: 'paying',
      statusSinceMs: start,
      figuresSource: 'poll',
      figuresAsOfMs: start,
      lastError: null,
      removed30d: { self: 2 },
      notes: ['a note', expect.stringContaining('skipped')],
      statusRules: '3',
    })
  })

  it('a good poll keeps the time of a status that stays', () => {
    expect(after(good(), good()).state.statusSinceMs).toBe(start)
    expect(after(good(), good()).transition).toBeNull()
  })

  it('a good poll without a payout keeps the last known one', () => {
    const { state } = after(good(), good({ lastPayoutAtMs: null }))
    expect(state.figures.lastPayoutAtMs).toBe(figures().lastPayoutAtMs)
  })

  it('a good poll clears every flag whose condition is not met', () => {
    const others = ['pact_sources_disagree', 'receipt_reversed']
    const kinds = flagTexts.map(([kind]) => kind).filter((kind) => !others.includes(kind))
    expect(after(good()).cleared).toEqual(kinds)
  })
})

describe('a failed poll', () => {
  it('a failed poll keeps figures and status, and shows the error', () => {
    const before = after(good()).state
    const { state, transition } = after(good(), failed())
    expect(state).toEqual({
      ...before,
      lastError: 'answered 500',
      lastPollAtMs: start + pollEveryMs,
      consecutiveFailures: 1,
    })
    expect(transition).toBeNull()
  })

  it('a failed poll opens poll_failed and keeps flags about figures', () => {
    const decision = after(good({ topWorkerShare: 0.95 }), failed())
    expect(kindsOf(decision)).toEqual(['poll_failed'])
    expect(decision.cleared).not.toContain('concentrated')
  })
})

const raw = (usdc: number) => ({ tpv30dRawMicroUsdc: usdc * 1_000_000 })
const tenfold = { tpv30dMicroUsdc: 10_000_000_000, ...raw(10_000) }
const creators = (uniqueCreators30d: number) => good({ uniqueCreators30d })
const paidAt = (lastPayoutAtMs: number) => good({ lastPayoutAtMs })
const impossible: PollOutcome = { kind: 'failed', error: 'figures', impossible: ['tpv < 0'] }

describe('flags', () => {
  it.each<[string, PollOutcome[], string[]]>([
    ['two failed polls after a good one', [good(), failed(), failed()], ['poll_failed']],
    [
      'three failed polls after a good one',
      [good(), failed(), failed(), failed()],
      ['poll_failed', 'stale_figures'],
    ],
    ['one failed poll', [failed()], ['poll_failed']],
    ['two failed polls without a good one', [failed(), failed()], ['poll_failed', 'stale_figures']],
    ['a good poll after failed ones', [good(), failed(), failed(), failed(), good()], []],
    ['impossible figures', [impossible], ['poll_failed', 'negative_or_impossible_figures']],
    ['a rule that removes half of the volume', [good(raw(2000))], []],
    ['a rule that removes more than half', [good(raw(2000.000001))], ['mostly_filtered']],
    ['a first poll, which differs from the audit', [good()], []],
    ['a tenfold rise of a figure', [good(), good(tenfold)], ['figures_jump']],
    ['a tenfold fall of a figure', [good(tenfold), good()], ['figures_jump']],
    ['a tenfold rise from one', [creators(1), creators(10)], ['figures_jump']],
    ['a rise of a small figure from zero', [creators(0), creators(9)], []],
    ['a payout two minutes ahead', [paidAt(start + 120_000)], []],
    ['a payout more than two minutes ahead', [paidAt(start + 121_000)], ['clock_skew']],
  ])('the flags after %s are as listed', (_polls, outcomes, kinds) => {
    expect(kindsOf(after(...outcomes))).toEqual(kinds)
  })

  it('the flag of a tenfold change stays open while the figure is unknown, until two polls agree', () => {
    const jumped = [creators(1), creators(10)]
    const clearedAfter = (...later: PollOutcome[]) => after(...jumped, ...later).cleared
    const unknown = good({ uniqueCreators30d: null })
    expect(clearedAfter(unknown)).not.toContain('figures_jump')
    expect(clearedAfter(unknown, creators(10))).not.toContain('figures_jump')
    expect(clearedAfter(unknown, creators(10), creators(11))).toContain('figures_jump')
  })

  it('a flag reports that one worker earns nearly everything', () => {
    expect(after(good({ topWorkerShare: 0.99 })).raised).toEqual([
      {
        kind: 'concentrated',
        finding: {
          severity: 'warning',
          title: 'Olas: one worker takes more than 90 %',
          evidence: {
            top_worker_share: 0.99,
            threshold: 0.9,
            unique_workers_30d: 4,
            tpv_30d_usdc: 1000,
          },
        },
      },
    ])
  })
})

describe('figures that cannot be true', () => {
  const cases = [
    ['a negative count', { uniqueWorkers30d: -1 }],
    ['not a number', { tpv30dMicroUsdc: Number.NaN }],
    ['infinite', { tpv30dRawMicroUsdc: Number.POSITIVE_INFINITY }],
    ['a share above one', { topWorkerShare: 1.01 }],
    ['more in 7 days than in 30', { tpv7dMicroUsdc: 1e9 + 1, tpv7dRawMicroUsdc: 1e9 + 1 }],
    ['more after the filter than before it', { tpv30dMicroUsdc: 1_200_000_001 }],
    ['above a billion USDC', { tpv30dRawMicroUsdc: 1_000_000_000_000_001 }],
  ] as const
  it.each(cases)('refuses figures that cannot be true: %s', (_, changes) => {
    expect(impossibleFigures(figures(changes))).not.toEqual([])
  })

  it('finds no impossible figure in a normal measurement or where all is unknown', () => {
    expect(impossibleFigures(figures())).toEqual([])
  })
})

describe('a rail is judged', () => {
  const polled: RailState = { ...audited, figuresSource: 'poll', figures: figures() }
  it.each([
    ['by an audit whose figures decide', { ...audited, figures: figures() }, true],
    ['not by an audit without figures', { ...audited, figures: unknownFigures }, false],
    ['by a poll that decides', polled, true],
    ['not by a poll that knows nothing', { ...polled, figures: unknownFigures }, false],
    ['while a poll keeps a judged status', { ...polled, undecidedSinceMs: 1 }, true],
    [
      'not if no rule decided and none did before',
      { ...polled, status: 'pre-traction', undecidedSinceMs: 1 } as const,
      false,
    ],
  ])('a rail is judged %s', (_case, state, is) => {
    expect(isJudged(state, 'payments')).toBe(is)
  })

  it('an audit is current for 90 days, a poll always', () => {
    const audit = { ...audited, figuresAsOfMs: 0 }
    expect(isCurrent(audit, 90 * dayMs)).toBe(true)
    expect(isCurrent(audit, 90 * dayMs + 1)).toBe(false)
    expect(isCurrent({ ...audit, figuresSource: 'poll' }, 900 * dayMs)).toBe(true)
  })
})
