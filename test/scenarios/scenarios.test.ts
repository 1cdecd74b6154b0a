import { describe, expect, it } from 'vitest'

import { groupShare, matrixText, runFamilies } from './matrix.ts'
import type { FamilyResult } from './matrix.ts'

/** `npm run scenarios` judges 1,000 rails of each family and prints the confusion matrix. */
const seeds = Number(process.env['SCENARIO_SEEDS'] ?? 50)
const results = runFamilies(seeds)
if (seeds > 50) process.stdout.write(`\n${matrixText(results)}\n\n`)

/** Percent: dishonest rails that are paying without a flag, honest ones that are not paying, honest ones with a flag. */
const targets: readonly (readonly [FamilyResult['group'], number, number, number])[] = [
  ['tuned', 0.1, 0.3, 1],
  ['later', 23.9, 0.2, 1.4],
  ['last', 44.4, 0.2, 1.2],
]

describe('simulated rails', () => {
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
      if (seeds > 50) process.stdout.write(`${group} ${JSON.stringify(measured)}\n`)
      expect(measured.unflagged).toBeLessThanOrEqual(unflagged)
      expect(measured.demoted).toBeLessThanOrEqual(demoted)
      expect(measured.flagged).toBeLessThanOrEqual(flagged)
    },
  )

  it('simulated rails cover at least 24 families', () => {
    expect(results.length).toBeGreaterThanOrEqual(24)
  })
})
