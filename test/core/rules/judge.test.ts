import { describe, expect, it } from 'vitest'

import { unknownFigures } from '../../../src/core/figures.ts'
import type { Figures } from '../../../src/core/figures.ts'
import { decidePoll, stateFromAudit } from '../../../src/core/rail-poll.ts'
import type { RailState } from '../../../src/core/rail-poll.ts'
import { judge } from '../../../src/core/rules/judge.ts'
import type { StatusBasis } from '../../../src/core/rules/status.ts'
import { dayMs } from '../../../src/core/time.ts'
import { figures } from '../../support/figures.ts'

const nowMs = Date.parse('2026-11-21T06:00:00Z')
const judged = (changes: Partial<Figures>, basis: StatusBasis = 'payments') =>
  judge({ figures: figures(changes) }, basis, null, nowMs)

describe('a rail whose source gives only figures', () => {
  it.each([
    ['paying', 'when several creators pay several workers', {}],
    ['paying', 'at a top share of exactly 90 %', { topWorkerShare: 0.9 }],
    ['dormant', 'without payouts at an unknown price', { activity30d: 0, tpv30dMicroUsdc: null }],
    ['dormant', 'without volume, payouts unknown', { activity30d: null, tpv30dMicroUsdc: 0 }],
    ['potemkin', 'with one creator', { uniqueCreators30d: 1, topWorkerShare: 1 }],
    ['concentrated', 'above 90 %', { uniqueCreators30d: 2, topWorkerShare: 0.900001 }],
    ['pre-traction', 'below five creators', { uniqueCreators30d: 4 }],
    ['pre-traction', 'when few of many creators have a budget', { creatorsWithBudget30d: 3 }],
    ['pre-traction', 'with activity and no volume', { tpv30dMicroUsdc: 0 }],
    ['pre-traction', 'with less than 25 USDC in all', { tpv30dMicroUsdc: 24_999_999 }],
  ] as const)('a rail is %s %s', (status, _condition, changes) => {
    expect(judged(changes).status).toBe(status)
  })

  it('a rail that pays nobody is never paying', () => {
    expect(judged({}, 'activity').status).toBe('pre-traction')
    const unknownActivity = { activity30d: null, tpv30dMicroUsdc: 0 }
    expect(judged(unknownActivity, 'activity').status).toBe('pre-traction')
  })

  it('a status shows its rules in order, with their values, up to the one that decides', () => {
    const { reasons, notes } = judged({ topWorkerShare: 0.95 })
    expect(reasons.map(({ rule, value, outcome }) => `${rule} ${value} ${outcome}`)).toEqual([
      'no_payouts 40 passes',
      'one_creator 6 passes',
      'one_spending_party null unknown',
      'one_worker_party 0.95 decides',
    ])
    expect(notes).toEqual([expect.stringContaining('one_spending_party')])
  })
})

const poll = (past: RailState, day: number, changes: Partial<Figures>) =>
  decidePoll(
    past,
    {
      kind: 'good',
      measurement: { figures: figures(changes), removed30d: {}, notes: [], evidence: [] },
    },
    {
      displayName: 'A',
      basis: 'payments',
      startedAtMs: nowMs + day * dayMs,
      durationMs: 1,
      pollEveryMs: dayMs,
    },
  )

it.each([
  ['volume', { tpv30dMicroUsdc: null }],
  ['number of creators', { uniqueCreators30d: null }],
  ['figure at all', unknownFigures],
])(
  'a rail without a known %s keeps its status for 14 days, then is pre-traction',
  (_name, changes) => {
    const audited = stateFromAudit({ rail: 'a', status: 'dormant', asOfMs: nowMs, figures: {} })
    const paying = poll(audited, 0, {}).state
    const first = poll(paying, 1, changes).state
    expect([first.status, first.statusReasons.at(-1)?.outcome]).toEqual(['paying', 'keeps'])
    const last = poll(poll(first, 15, changes).state, 15.01, changes)
    expect([last.state.status, last.transition?.to]).toEqual(['pre-traction', 'pre-traction'])
    expect(poll(last.state, 16, {}).state).toMatchObject({
      status: 'paying',
      undecidedSinceMs: null,
    })
  },
)

it('a transition is marked where other rules decided before', () => {
  const audited = stateFromAudit({ rail: 'a', status: 'paying', asOfMs: nowMs, figures: {} })
  const rulesChanged = { rules_changed: { from: '1', to: '3' } }
  const few = { uniqueCreators30d: 3 }
  expect(poll({ ...audited, statusRules: '1' }, 0, few).transition).toEqual({
    from: 'paying',
    to: 'pre-traction',
    ...rulesChanged,
  })
  expect(poll(audited, 0, few).transition).toEqual({ from: 'paying', to: 'pre-traction' })
})
