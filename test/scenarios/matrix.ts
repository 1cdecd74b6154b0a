import { tryRules } from '../../builder/rails/try-rules.ts'
import { lastDishonest, laterDishonest, tunedDishonest } from './dishonest.ts'
import type { Family } from './dishonest.ts'
import { fifthDishonest, fifthHonest } from './fifth.ts'
import { fourthDishonest, fourthHonest, limitsDishonest, limitsHonest } from './fourth.ts'
import { lastHonest, laterHonest, tunedHonest } from './honest.ts'
import { Stage } from './stage.ts'
import { thirdDishonest, thirdHonest } from './third.ts'

export interface FamilyResult {
  readonly family: string
  readonly group: 'tuned' | 'later' | 'last' | 'third' | 'fourth' | 'fifth' | 'limits'
  readonly isHonest: boolean
  readonly rails: number
  /** Status `paying` without a flag. */
  readonly unflagged: number
  readonly notPaying: number
  readonly flagged: number
  readonly flags: Readonly<Record<string, number>>
  readonly statuses: Readonly<Record<string, number>>
}

const groups = [
  ['tuned', false, tunedDishonest],
  ['tuned', true, tunedHonest],
  ['later', false, laterDishonest],
  ['later', true, laterHonest],
  ['last', false, lastDishonest],
  ['last', true, lastHonest],
  ['third', false, thirdDishonest],
  ['third', true, thirdHonest],
  ['fourth', false, fourthDishonest],
  ['fourth', true, fourthHonest],
  ['fifth', false, fifthDishonest],
  ['fifth', true, fifthHonest],
  ['limits', false, limitsDishonest],
  ['limits', true, limitsHonest],
] as const

/** Judges `seeds` rails of each family, with or without the transfers and tests that a node would have given. */
export function runFamilies(seeds: number, isLookedUp: boolean): readonly FamilyResult[] {
  return groups.flatMap(([group, isHonest, families]) =>
    Object.entries(families).map(([family, build]) => ({
      family,
      group,
      isHonest,
      ...count(family, build, seeds, isLookedUp),
    })),
  )
}

function count(family: string, build: Family, seeds: number, isLookedUp: boolean) {
  const [flags, statuses]: [Record<string, number>, Record<string, number>] = [{}, {}]
  let [unflagged, notPaying, flagged] = [0, 0, 0]
  for (let seed = 1; seed <= seeds; seed += 1) {
    const stage = new Stage(family, seed)
    build(stage)
    const isMeant = (line: string) => isLookedUp || !/^\{"(?:transfer|wallet)"/.test(line)
    for (const rail of tryRules(stage.lines.filter(isMeant))) {
      statuses[rail.status] = (statuses[rail.status] ?? 0) + 1
      for (const { kind } of rail.flags) flags[kind] = (flags[kind] ?? 0) + 1
      if (rail.status !== 'paying') notPaying += 1
      else if (rail.flags.length === 0) unflagged += 1
      if (rail.flags.length > 0) flagged += 1
    }
  }
  return { rails: seeds, unflagged, notPaying, flagged, flags, statuses }
}

/** Percent of the rails of a group. */
export function groupShare(
  results: readonly FamilyResult[],
  group: FamilyResult['group'],
  isHonest: boolean,
  of: (result: FamilyResult) => number,
): number {
  const meant = results.filter((result) => result.group === group && result.isHonest === isHonest)
  const sum = (value: (result: FamilyResult) => number) =>
    meant.reduce((total, result) => total + value(result), 0)
  return (100 * sum(of)) / sum(({ rails }) => rails)
}

/** The confusion matrix as a Markdown table. */
export function matrixText(results: readonly FamilyResult[]): string {
  const rows = results.map((result) => {
    const percent = (count: number) => ((100 * count) / result.rails).toFixed(1)
    const { family, isHonest, statuses, flags } = result
    const most = (counts: Readonly<Record<string, number>>) =>
      Object.entries(counts)
        .sort(([, a], [, b]) => b - a)
        .slice(0, 2)
        .map(([name, count]) => `${name} ${percent(count)}`)
        .join(', ')
    return isHonest
      ? `| ${family} | honest | ${percent(result.notPaying)} not paying | ${percent(result.flagged)} | ${most(statuses)} | ${most(flags)} |`
      : `| ${family} | dishonest | ${percent(result.unflagged)} paying without a flag | ${percent(result.flagged)} | ${most(statuses)} | ${most(flags)} |`
  })
  return [
    '| family | | wrong | flagged | statuses | flags |',
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}
