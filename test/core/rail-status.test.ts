import { describe, expect, it } from 'vitest'

import { unknownFigures } from '../../src/core/figures.ts'
import { statusOf } from '../../src/core/rail-status.ts'
import { figures } from '../support/figures.ts'

describe('the status of a rail', () => {
  const cases = [
    ['is paying when several creators pay several workers', {}, 'paying'],
    ['is dormant without payouts and volume', { activity30d: 0, tpv30dMicroUsdc: 0 }, 'dormant'],
    [
      'is dormant without payouts even where volume has no price',
      { activity30d: 0, tpv30dMicroUsdc: null },
      'dormant',
    ],
    [
      'is dormant with a volume of zero where payouts are not counted',
      { activity30d: null, tpv30dMicroUsdc: 0 },
      'dormant',
    ],
    ['is potemkin with one creator', { uniqueCreators30d: 1 }, 'potemkin'],
    ['is potemkin with no creator that passes the rule', { uniqueCreators30d: 0 }, 'potemkin'],
    ['is concentrated above 90 %', { topWorkerShare: 0.900001 }, 'concentrated'],
    ['is not concentrated at exactly 90 %', { topWorkerShare: 0.9 }, 'paying'],
    [
      'is potemkin before it is concentrated',
      { uniqueCreators30d: 1, topWorkerShare: 1 },
      'potemkin',
    ],
    ['is pre-traction below five creators', { uniqueCreators30d: 4 }, 'pre-traction'],
    ['is paying from five creators on', { uniqueCreators30d: 5 }, 'paying'],
    [
      'is pre-traction when few of many creators have a budget',
      { creatorsWithBudget30d: 3 },
      'pre-traction',
    ],
    [
      'is concentrated before it is pre-traction',
      { uniqueCreators30d: 2, topWorkerShare: 0.95 },
      'concentrated',
    ],
  ] as const
  it.each(cases)('%s', (_, changes, status) => {
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
