import { describe, expect, it } from 'vitest'

import { groupShare, matrixText, runFamilies } from './matrix.ts'
import type { FamilyResult } from './matrix.ts'

/** `npm run scenarios` judges 1,000 rails of each family, with and without look-ups, and prints both confusion matrices. */
const seeds = Number(process.env['SCENARIO_SEEDS'] ?? 6)
const isLong = seeds > 6
const lookedUp = runFamilies(seeds, true)
const paymentsOnly = runFamilies(seeds, false)
if (isLong) {
  process.stdout.write(
    `\n${matrixText(lookedUp)}\n\nWithout look-ups:\n\n${matrixText(paymentsOnly)}\n\n`,
  )
}

/** Percent: dishonest rails that are paying without a flag, honest ones that are not paying, honest ones with a flag. */
type Targets = readonly (readonly [FamilyResult['group'], number, number, number])[]
const withLookUps: Targets = [
  ['tuned', 0.1, 0.3, 1],
  ['later', 15, 0.3, 1],
  ['last', 30, 0.3, 1],
  ['third', 15, 0.3, 1],
  ['fourth', 15, 0.3, 1],
  ['fifth', 15, 0.3, 1],
]
/** Without look-ups, the customers of a contract are unknown, and many sources of funds stay invisible. */
const withoutLookUps: Targets = [
  ['tuned', 10, 0.3, 1],
  ['later', 15, 0.3, 1],
  ['last', 30, 0.3, 1],
  ['third', 60, 12, 12],
  ['fourth', 80, 15, 15],
  ['fifth', 70, 35, 35],
]

describe.each([
  ['with look-ups', lookedUp, withLookUps],
  ['without look-ups', paymentsOnly, withoutLookUps],
] as const)('simulated rails, judged %s', (setting, results, targets) => {
  it.each(targets)(
    'simulated rails of the %s families are judged as well as the target',
    (group, unflagged, demoted, flagged) => {
      const share = (isHonest: boolean, of: (result: FamilyResult) => number) =>
        groupShare(results, group, isHonest, of)
      const measured = {
        unflagged: share(false, (result) => result.unflagged),
        demoted: share(true, (result) => result.notPaying),
        flagged: share(true, (result) => result.flagged),
      }
      if (isLong) process.stdout.write(`${group}, ${setting}: ${JSON.stringify(measured)}\n`)
      expect(measured.unflagged).toBeLessThanOrEqual(unflagged)
      expect(measured.demoted).toBeLessThanOrEqual(demoted)
      expect(measured.flagged).toBeLessThanOrEqual(flagged)
    },
  )
})

it('simulated rails cover at least 143 families', () => {
  expect(lookedUp.length).toBeGreaterThanOrEqual(143)
})
