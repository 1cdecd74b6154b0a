import type { TimeSpent } from './processes.ts'
import { isMet } from './suite.ts'
import type { Row, SuiteReport, Target } from './suite.ts'

export interface TimedReport extends SuiteReport {
  readonly spent: TimeSpent
}

const columns = ['what', 'ours', 'peer', 'unit', 'ratio', 'spread', 'target', 'result'] as const

export function reportText(name: string, { rows, skipped, facts, spent }: TimedReport): string {
  const [wall, cpu] = secondsOf(spent)
  return [
    `## ${name}`,
    '',
    ...Object.entries(facts).map(([fact, value]) => `${fact}: ${value}`),
    `took: ${wall} s, ${cpu} s of CPU time`,
    '',
    ...aligned([columns, ...rows.map(cellsOf)]),
    ...furtherTables(rows),
    '',
    ...skipped.map(({ what, why }) => `skipped: ${what}: ${why}`),
    '',
  ].join('\n')
}

export function overviewText(
  reports: Readonly<Record<string, TimedReport>>,
  whole: TimeSpent,
): string {
  const suites = Object.entries(reports)
  const withTarget = suites.flatMap(([name, { rows }]) =>
    rows.filter(({ target }) => target !== null).map((row) => [name, ...cellsOf(row)]),
  )
  const skipped = suites.flatMap(([name, report]) =>
    report.skipped.map(({ what, why }) => `skipped: ${name}: ${what}: ${why}`),
  )
  const times = suites.map(([name, { spent }]) => [name, ...secondsOf(spent)])
  return [
    '## all targets',
    '',
    ...aligned([['suite', ...columns], ...withTarget]),
    '',
    ...skipped,
    '',
    ...aligned([['suite', 's', 'CPU s'], ...times, ['all', ...secondsOf(whole)]]),
    '',
  ].join('\n')
}

function secondsOf({ wallMs, cpuMs }: TimeSpent): readonly [wall: string, cpu: string] {
  return [(wallMs / 1000).toFixed(1), (cpuMs / 1000).toFixed(1)]
}

function cellsOf(row: Row): readonly string[] {
  const { what, ours, peer, unit, ratio, target } = row
  return [
    what,
    figureText(ours.median),
    `${peer.name} ${figureText(peer.median)}`,
    unit,
    ratioText(ratio.median),
    `${ratioText(ratio.min)} to ${ratioText(ratio.max)} (${ratio.rounds})`,
    target === null ? '-' : targetText(target, unit),
    target === null ? '-' : isMet(row) === true ? 'met' : 'MISSED',
  ]
}

function targetText(target: Target, unit: string): string {
  const bound = 'atLeast' in target ? `at least ${target.atLeast}` : `at most ${target.atMost}`
  return target.of === 'ratio' ? bound : `${bound} ${unit}`
}

function furtherTables(rows: readonly Row[]): string[] {
  const names = new Set(rows.flatMap(({ also }) => Object.keys(also)))
  return [...names].flatMap((name) => {
    const lines = rows.flatMap(({ what, peer, also: { [name]: measured } }) =>
      measured === undefined
        ? []
        : [
            [
              what,
              figureText(measured.ours),
              `${peer.name} ${figureText(measured.peer)}`,
              ratioText(measured.ratio),
            ],
          ],
    )
    return ['', ...aligned([[name, 'ours', 'peer', 'ratio'], ...lines])]
  })
}

function aligned(lines: readonly (readonly string[])[]): string[] {
  const widthOf = (at: number) => Math.max(...lines.map((line) => line[at]?.length ?? 0))
  const widths = (lines[0] ?? []).map((_, at) => widthOf(at))
  return lines.map((line) =>
    line
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}

function figureText(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toPrecision(3)
}

function ratioText(value: number): string {
  return value < 0.01 ? value.toPrecision(2) : value.toFixed(2)
}
