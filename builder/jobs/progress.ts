import type { RailBackfill } from './backfill-progress.ts'
import type { PollReport } from './poll-rail.ts'

/** Lines are aligned on a terminal and plain otherwise. */
export interface ProgressOutput {
  readonly isTTY: boolean
  readonly write: (text: string) => void
}

const marks = { ok: '✓', failed: '✗' } as const

export function railProgress(output: ProgressOutput, total: number): (report: PollReport) => void {
  let done = 0
  return (report) => {
    if (report.outcome === 'unfinished') return
    done += 1
    const { rail, outcome, durationMs, status, error, transition } = report
    const moved = transition === null ? '' : ` (${transition.from} → ${transition.to})`
    const seconds = `${(durationMs / 1000).toFixed(1)} s`
    const result = error === null ? `${status}${moved}` : `carried over: ${error}`
    const line = output.isTTY
      ? `${marks[outcome]} ${String(done).padStart(String(total).length)}/${total} ${rail.padEnd(18)} ${seconds.padStart(8)}  ${result}`
      : `${outcome} ${rail} ${seconds} ${result}`
    output.write(`${line}\n`)
  }
}

const barLength = 20

/** A line whenever the percentage of a rail that reads many days grows. */
export function backfillLines(output: ProgressOutput): (progress: RailBackfill) => void {
  return ({ rail, percent, text }) => {
    const filled = Math.round((percent / 100) * barLength)
    const bar = `${'█'.repeat(filled)}${'░'.repeat(barLength - filled)}`
    const line = output.isTTY
      ? `${bar} ${rail.padEnd(18)} ${String(percent).padStart(3)} %  ${text}`
      : `reading ${rail} ${percent} % ${text}`
    output.write(`${line}\n`)
  }
}
