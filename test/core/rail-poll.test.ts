import { describe, expect, it } from 'vitest'

import { impossibleFigures } from '../../src/core/figures.ts'
import type { Figures } from '../../src/core/figures.ts'
import { flagDetectors } from '../../src/core/flags/index.ts'
import { stateFromAudit, decidePoll } from '../../src/core/rail-poll.ts'
import type { PollOutcome, RailState } from '../../src/core/rail-poll.ts'
import { hourMs } from '../../src/core/time.ts'
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
  it('replaces the figures, derives the status and returns the transition', () => {
    const { state, transition } = after(good())
    expect(transition).toEqual({ from: 'dormant', to: 'paying' })
    expect(state).toMatchObject({
      status: 'paying',
      statusSinceMs: start,
      figuresSource: 'poll',
      figuresAsOfMs: start,
      lastError: null,
      removed30d: { self: 2 },
      notes: ['a note'],
    })
  })

  it('keeps the time of the status while the status stays', () => {
    expect(after(good(), good()).state.statusSinceMs).toBe(start)
    expect(after(good(), good()).transition).toBeNull()
  })

  it('keeps the last known payout where the poll found none', () => {
    const { state } = after(good(), good({ lastPayoutAtMs: null }))
    expect(state.figures.lastPayoutAtMs).toBe(figures().lastPayoutAtMs)
  })

  it('clears every flag whose condition is not met', () => {
    expect(after(good()).cleared).toEqual(flagDetectors.map(({ kind }) => kind))
  })
})

describe('a failed poll', () => {
  it('keeps figures and status, and shows the error', () => {
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

  it('opens poll_failed and keeps flags about figures', () => {
    const decision = after(good({ topWorkerShare: 0.95 }), failed())
    expect(kindsOf(decision)).toEqual(['poll_failed'])
    expect(decision.cleared).not.toContain('concentrated')
  })

  it('is stale from the third cycle without a good poll', () => {
    expect(kindsOf(after(good(), failed(), failed()))).not.toContain('stale_figures')
    expect(kindsOf(after(good(), failed(), failed(), failed()))).toContain('stale_figures')
  })

  it('is stale after two cycles where there never was a good poll', () => {
    expect(kindsOf(after(failed()))).not.toContain('stale_figures')
    expect(kindsOf(after(failed(), failed()))).toContain('stale_figures')
  })

  it('is cleared by the next good poll', () => {
    const decision = after(good(), failed(), failed(), failed(), good())
    expect(kindsOf(decision)).toEqual([])
    expect(decision.state.consecutiveFailures).toBe(0)
  })
})

describe('flags of a good poll', () => {
  it('report that one worker earns nearly everything', () => {
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

  it('report that the rule removes most of the volume', () => {
    const decision = after(good({ tpv30dRawMicroUsdc: 2_000_000_001 }))
    expect(kindsOf(decision)).toEqual(['self_dealing'])
    expect(kindsOf(after(good({ tpv30dRawMicroUsdc: 2_000_000_000 })))).toEqual([])
  })

  it('report a tenfold change of a figure, except of a small one', () => {
    const high = { tpv30dMicroUsdc: 10_000_000_000, tpv30dRawMicroUsdc: 10_000_000_000 }
    expect(kindsOf(after(good(), good(high)))).toEqual(['figures_jump'])
    expect(kindsOf(after(good(high), good()))).toEqual(['figures_jump'])
    const creators = (uniqueCreators30d: number) => good({ uniqueCreators30d })
    expect(kindsOf(after(creators(0), creators(9)))).toEqual([])
    expect(kindsOf(after(creators(1), creators(10)))).toEqual(['figures_jump'])
  })

  it('do not compare the first poll with the audit', () => {
    expect(kindsOf(after(good()))).toEqual([])
  })

  it('report a payout dated in the future', () => {
    expect(kindsOf(after(good({ lastPayoutAtMs: start + 121_000 })))).toEqual(['clock_skew'])
    expect(kindsOf(after(good({ lastPayoutAtMs: start + 120_000 })))).toEqual([])
  })

  it('report refused figures', () => {
    const outcome: PollOutcome = {
      kind: 'failed',
      error: 'figures',
      impossible: ['tpv is negative'],
    }
    expect(kindsOf(after(outcome))).toEqual(['poll_failed', 'negative_or_impossible_figures'])
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
  it.each(cases)('are refused: %s', (_, changes) => {
    expect(impossibleFigures(figures(changes))).not.toEqual([])
  })

  it('are not found in a normal measurement or where all is unknown', () => {
    expect(impossibleFigures(figures())).toEqual([])
  })
})
