/** Reports as text for a terminal. */
import type { Spent } from './spent.ts'
import { isMet } from './suite.ts'
import type { Row, SuiteReport, Target } from './suite.ts'

const columns = ['what', 'ours', 'peer', 'unit', 'ratio', 'spread', 'target', 'result'] as const

export function reportText(
  name: string,
  { rows, skipped, facts }: SuiteReport,
  spent: Spent,
): string {
  return [
    `## ${name}`,
    '',
    ...Object.entries(facts).map(([fact, value]) => `${fact}: ${value}`),
    `took: ${spentText(spent)}`,
    '',
    ...aligned([columns, ...rows.map(cells)]),
    ...alsoText(rows),
    '',
    ...skipped.map(({ what, why }) => `skipped: ${what}: ${why}`),
    '',
  ].join('\n')
}

/** Every row that has a target, what was skipped, and where the time went. */
export function overviewText(
  reports: Readonly<Record<string, SuiteReport & { readonly spent: Spent }>>,
  whole: Spent,
): string {
  const suites = Object.entries(reports)
  const aimed = suites.flatMap(([name, { rows }]) =>
    rows.filter(({ target }) => target !== null).map((row) => [name, ...cells(row)]),
  )
  const skipped = suites.flatMap(([name, report]) =>
    report.skipped.map(({ what, why }) => `skipped: ${name}: ${what}: ${why}`),
  )
  const times = suites.map(([name, { spent }]) => [name, ...spentCells(spent)])
  return [
    '## all targets',
    '',
    ...aligned([['suite', ...columns], ...aimed]),
    '',
    ...skipped,
    '',
    ...aligned([['suite', 's', 'CPU s'], ...times, ['all', ...spentCells(whole)]]),
    '',
  ].join('\n')
}

function spentText(spent: Spent): string {
  const [wall, cpu] = spentCells(spent)
  return `${wall} s, ${cpu} s of CPU time`
}

function spentCells({ wallMs, cpuMs }: Spent): [wall: string, cpu: string] {
  const seconds = (ms: number): string => (ms / 1000).toFixed(1)
  return [seconds(wallMs), cpuMs === null ? '-' : seconds(cpuMs)]
}

function cells(row: Row): readonly string[] {
  const { what, ours, peer, unit, ratio, target } = row
  const met = isMet(row)
  return [
    what,
    figure(ours.median),
    `${peer.name} ${figure(peer.median)}`,
    unit,
    ratioText(ratio.median),
    `${ratioText(ratio.min)} to ${ratioText(ratio.max)} (${ratio.rounds})`,
    target === null ? '-' : targetText(target, unit),
    met === null ? '-' : met ? 'met' : 'MISSED',
  ]
}

function targetText(target: Target, unit: string): string {
  const value = 'atLeast' in target ? target.atLeast : target.atMost
  const bound = 'atLeast' in target ? 'at least' : 'at most'
  return target.of === 'ratio' ? `${bound} ${value}` : `${bound} ${value} ${unit}`
}

/** Further figures, one table for each kind. */
function alsoText(rows: readonly Row[]): string[] {
  const names = new Set(rows.flatMap(({ also }) => Object.keys(also)))
  return [...names].flatMap((name) => {
    const lines = rows.flatMap(({ what, peer, also }) => {
      const found = also[name]
      if (found === undefined) return []
      const { ours, peer: theirs, ratio } = found
      return [[what, figure(ours), `${peer.name} ${figure(theirs)}`, ratioText(ratio)]]
    })
    return ['', ...aligned([[name, 'ours', 'peer', 'ratio'], ...lines])]
  })
}

function aligned(lines: readonly (readonly string[])[]): string[] {
  const count = Math.max(...lines.map((line) => line.length))
  const widths = Array.from({ length: count }, (_, at) =>
    Math.max(...lines.map((line) => (line[at] ?? '').length)),
  )
  return lines.map((line) =>
    line
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

function figure(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toPrecision(3)
}

function ratioText(value: number): string {
  return value < 0.01 ? value.toPrecision(2) : value.toFixed(2)
}
