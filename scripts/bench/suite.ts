/** What a suite is and what it reports. */

export interface SuiteContext {
  /** Short rounds and few of them: enough to see that nothing is broken, not to decide by. */
  readonly quick: boolean
  /** A directory of the suite's own, removed afterwards. */
  readonly dir: string
  readonly shared: Shared
  /** A line for whoever is waiting. */
  readonly say: (line: string) => void
}

/**
 * The directory of what several suites begin with: `make` fills it for the first that asks, and all others get the same
 * one. Nobody writes to it after that: whoever has to takes a copy.
 */
export type Shared = (name: string, make: (dir: string) => Promise<void>) => Promise<string>

export interface Suite {
  readonly about: string
  readonly run: (context: SuiteContext) => Promise<SuiteReport>
}

export interface SuiteReport {
  readonly rows: readonly Row[]
  /** What was not measured, and why not. */
  readonly skipped: readonly { readonly what: string; readonly why: string }[]
  /** Facts about this run that a reader needs: versions, tools, sizes. */
  readonly facts: Readonly<Record<string, string | number>>
}

/** One comparison of ours with a peer that was measured in the same rounds. */
export interface Row {
  readonly what: string
  readonly unit: string
  readonly ours: Summary
  readonly peer: Summary & { readonly name: string }
  /** Ours divided by the peer's, round by round. */
  readonly ratio: Summary
  readonly target: Target | null
  /** Medians of further figures by name, such as CPU time for each request. */
  readonly also: Readonly<Record<string, Also>>
}

export interface Also {
  readonly ours: number
  readonly peer: number
  /** Median of the ratios of each round. */
  readonly ratio: number
}

export interface Summary {
  readonly median: number
  readonly min: number
  readonly max: number
  readonly rounds: number
}

/** What the ratio, or ours alone in its unit, should reach. */
export type Target =
  | { readonly of: 'ratio'; readonly atLeast: number }
  | { readonly of: 'ratio'; readonly atMost: number }
  | { readonly of: 'ours'; readonly atMost: number }

export function isMet(row: Row): boolean | null {
  if (row.target === null) return null
  const value = row.target.of === 'ratio' ? row.ratio.median : row.ours.median
  return 'atLeast' in row.target ? value >= row.target.atLeast : value <= row.target.atMost
}
