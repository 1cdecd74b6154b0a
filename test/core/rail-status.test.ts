import { describe, expect, it } from 'vitest'

import { unknownFigures } from '../../src/core/figures.ts'
import { statusOf } from '../../src/core/rail-status.ts'
import { figures } from '../support/figures.ts'

describe('the status of a rail', () => {
  it.each([
    ['paying', 'when several creators pay several workers', {}],
    ['paying', 'from five creators on', { uniqueCreators30d: 5 }],
    ['paying', 'at a top share of exactly 90 %', { topWorkerShare: 0.9 }],
    ['dormant', 'without payouts and volume', { activity30d: 0, tpv30dMicroUsdc: 0 }],
    ['dormant', 'without payouts at an unknown price', { activity30d: 0, tpv30dMicroUsdc: null }],
    ['dormant', 'without volume, payouts unknown', { activity30d: null, tpv30dMicroUsdc: 0 }],
    ['potemkin', 'with one creator', { uniqueCreators30d: 1 }],
    ['potemkin', 'with no creator that passes the rule', { uniqueCreators30d: 0 }],
    ['potemkin', 'before concentrated', { uniqueCreators30d: 1, topWorkerShare: 1 }],
    ['concentrated', 'above 90 %', { topWorkerShare: 0.900001 }],
    ['concentrated', 'before pre-traction', { uniqueCreators30d: 2, topWorkerShare: 0.95 }],
    ['pre-traction', 'below five creators', { uniqueCreators30d: 4 }],
    ['pre-traction', 'when few of many creators have a budget', { creatorsWithBudget30d: 3 }],
  ] as const)('is %s %s', (status, _condition, changes) => {
    expect(statusOf(figures(changes), 'payments')).toEqual({ status, skipped: [] })
  })

  it('skips the rule of an unknown figure with a note', () => {
    expect(statusOf(figures({ topWorkerShare: null }), 'payments')).toEqual({
      status: 'paying',
      skipped: ['The rule for concentrated was skipped: the share of the top worker is unknown.'],
    })
  })

  it('is null where nothing is known', () => {
    const verdict = statusOf(unknownFigures, 'payments')
    expect(verdict.status).toBeNull()
    expect(verdict.skipped).toHaveLength(4)
  })

  it('is never paying while the number of creators is unknown', () => {
    const unknownCreators = figures({ uniqueCreators30d: null, creatorsWithBudget30d: null })
    expect(statusOf(unknownCreators, 'payments').status).toBeNull()
  })

  it('is never paying on a rail that pays nobody', () => {
    expect(statusOf(figures({ tpv30dMicroUsdc: 0 }), 'activity').status).toBe('pre-traction')
  })
})
