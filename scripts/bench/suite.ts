import type { BenchRow } from './rows.ts'
import type { Sample } from './samples.ts'

export interface SuiteContext {
  /** Few and short rounds: enough to find errors, but too few for reliable figures. */
  readonly quick: boolean
  /** An empty directory for this suite, removed at the end of the run. */
  readonly dir: string
  readonly log: (line: string) => void
}

export interface Suite {
  readonly about: string
  readonly run: (context: SuiteContext) => Promise<SuiteReport>
}

export interface SuiteReport {
  readonly rows: readonly BenchRow[]
  readonly facts?: Sample
  /** Names of the measurements that were skipped, with the reason. */
  readonly skipped?: readonly string[]
}
