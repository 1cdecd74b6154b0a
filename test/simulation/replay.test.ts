import { afterAll, beforeAll, expect, test } from 'vitest'

import type { Route } from '../../src/contract/route.ts'
import { routes } from '../../src/contract/routes.ts'
import { prepareInstallation } from './installation.ts'
import type { Installation } from './installation.ts'
import { planOf } from './plan.ts'
import { simulatedRoutes } from './requests.ts'
import { chosen, warmUp } from './shard.ts'
import { simulate } from './simulation.ts'

const { one, first } = chosen
const sample = 25

let installation: Installation

beforeAll(async () => {
  installation = await prepareInstallation()
  await warmUp(installation)
})
afterAll(() => installation.remove())

test('the same seed yields the same history, down to each statement', async () => {
  const seeds = one === null ? Array.from({ length: sample }, (_, at) => first + at * 7) : [one]
  const hashes = new Set<string>()
  for (const seed of seeds) {
    const [once, twice] = [
      await simulate(seed, planOf(seed), installation),
      await simulate(seed, planOf(seed), installation),
    ]
    expect([seed, twice.hash]).toEqual([seed, once.hash])
    hashes.add(once.hash)
  }
  expect(hashes.size).toBe(seeds.length)
})

test('a single seed runs without a problem and can print its history', async () => {
  const seed = one ?? 1
  const { lines, problem } = await simulate(seed, planOf(seed), installation)
  if (one !== null) process.stdout.write(`${lines.join('\n')}\n`)
  expect(problem).toBeNull()
})

/** Nothing depends on disputes and on secrets of webhooks. The change of a wallet is not simulated. */
const apart = 'openDispute withdrawDispute rotateAlertSecret changePartnerWallet'.split(' ')

test('every write of the API that others depend on is simulated', () => {
  const all: readonly Route[] = routes
  const writes = all.filter(({ method, id }) => method !== 'GET' && !apart.includes(id))
  expect([...simulatedRoutes].toSorted()).toEqual(writes.map(({ id }) => id).toSorted())
})
