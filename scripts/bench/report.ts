import type { BenchRow, Target } from './rows.ts'
import type { SuiteReport } from './suite.ts'

export interface BenchReport extends SuiteReport {
  readonly seconds: number
}

export function printReport(name: string, report: BenchReport): void {
  const { rows, seconds, facts = {}, skipped = [] } = report
  console.log(`\n## ${name}, ${Math.round(seconds)} s\n`)
  for (const [fact, value] of Object.entries(facts)) console.log(`${fact}: ${value}`)
  console.table(rows.map(cellsOf))
  for (const text of skipped) console.log(`skipped: ${text}`)
}

function cellsOf(row: BenchRow) {
  const { what, unit, medians, ratio, rounds, target, met } = row
  return {
    what,
    ours: figureText(medians.ours),
    peer: `${peerText(row)} ${figureText(medians.peer)}`,
    unit,
    ratio: ratioText(ratio.median),
    spread: `${ratioText(ratio.min)} to ${ratioText(ratio.max)} (${rounds})`,
    target: target === null ? '' : targetText(target, unit),
    result: met === null ? '' : met ? 'met' : 'MISSED',
  }
}

/** Returns the name of the peer, or of the figure if a contestant is compared with itself. */
function peerText({ ours, peer }: BenchRow): string {
  const [contestant = '', figure = ''] = peer.split('.')
  return ours.startsWith(`${contestant}.`) ? figure : contestant
}

function targetText({ of, bound, value }: Target, unit: string): string {
  return of === 'ratio' ? `${bound} ${value}` : `${bound} ${value} ${unit}`
}

function figureText(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toPrecision(3)
}

function ratioText(value: number): string {
  return value < 0.01 ? value.toPrecision(2) : value.toFixed(2)
}
