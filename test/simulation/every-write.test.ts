import { expect, test } from 'vitest'

import type { Route } from '../../src/contract/route.ts'
import { routes } from '../../src/contract/routes.ts'
import { planOf } from './plan.ts'
import { kinds, operations } from './requests/operations.ts'
import { chosen } from './seeds.ts'

const all: readonly Route[] = routes
const writes = all.filter(({ method }) => method !== 'GET').map(({ id }) => id)

/** Disputes change no other row of the ledger, and nothing depends on them. */
const apart = ['openDispute', 'withdrawDispute']

test('every write of the API that others depend on is simulated', () => {
  const simulated = [...new Set<string>(Object.values(operations)), ...apart]
  expect(simulated.toSorted()).toEqual(writes.toSorted())
})

test('plans contain every kind of request and every end of a job', () => {
  const count = Math.max(chosen.seeds, 200)
  const steps = Array.from({ length: count }, (_, at) => planOf(chosen.first + at)).flat()
  const drawn = new Set(steps.filter(({ isWilling }) => !isWilling).map(({ kind }) => kind))
  expect(kinds.filter((kind) => !drawn.has(kind))).toEqual([])
  const led = new Set(steps.filter(({ isWilling }) => isWilling).map(({ kind }) => kind))
  for (const kind of ['deliver', 'accept', 'dispute', 'over a fortnight'] as const) {
    expect(led).toContain(kind)
  }
})
