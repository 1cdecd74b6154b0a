import { afterAll, beforeAll, expect, test } from 'vitest'

import { prepareInstallation } from './installation.ts'
import type { Installation } from './installation.ts'
import { planOf } from './plan.ts'
import { chosen } from './seeds.ts'
import { warmUp } from './shard.ts'
import { simulate } from './simulation.ts'

const sample = 25

let installation: Installation

beforeAll(async () => {
  installation = await prepareInstallation()
  await warmUp(installation)
})
afterAll(() => installation.remove())

test('the same seed yields the same history, down to each statement', async () => {
  const { first, one } = chosen
  const seeds = one === null ? Array.from({ length: sample }, (_, at) => first + at * 7) : [one]
  for (const seed of seeds) {
    const [once, twice] = [
      await simulate(seed, planOf(seed), installation),
      await simulate(seed, planOf(seed), installation),
    ]
    expect([seed, twice.hash]).toEqual([seed, once.hash])
  }
})

test('different seeds yield different histories', async () => {
  const [one, other] = [
    await simulate(1, planOf(1), installation),
    await simulate(2, planOf(2), installation),
  ]
  expect(other.hash).not.toBe(one.hash)
})

test('a single seed runs without a problem and can print its history', async () => {
  const { one } = chosen
  const seed = one ?? 1
  const { lines, problem } = await simulate(seed, planOf(seed), installation)
  if (one !== null) process.stdout.write(`${lines.join('\n')}\n`)
  expect(lines.length).toBeGreaterThan(0)
  expect(problem).toBeNull()
})
